//! template.yaml: roles, routes, alarms, table and deployment gates, compared with the code.

mod alarms;
mod roles;
mod routes;
mod table;
