//! Outcomes as a table, as JSON lines and as a plot.

