//! template.yaml: roles, routes, alarms, table and deployment gates, compared with the code. Also the tests of the
//! library `ledger-tests`, which has no test binary: IAM, YAML, costs, documents and the contract of openapi.json.

mod alarms;
mod contract;
mod costs;
mod documents;
mod iam;
mod requests;
mod roles;
mod routes;
mod table;
mod yaml;
