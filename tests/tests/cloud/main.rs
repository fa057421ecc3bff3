//! template.yaml: roles, routes, alarms, table and deployment gates, compared with the code.

mod alarms;
mod gate;
mod roles;
mod routes;
mod table;
