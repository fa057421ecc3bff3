//! Operating system processes: `kill -9`, and the functions' binaries behind a Lambda Runtime API.

mod lambda;
mod own_tenant;
mod payments_kill;
mod topup_kill;
