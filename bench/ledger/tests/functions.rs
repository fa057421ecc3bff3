//! The command line of `functions`: what it refuses before it measures anything.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_functions")).args(arguments).output().expect("it runs")
}

#[test]
fn bad_input_is_an_error_that_says_what_to_do() {
    for (arguments, status, what) in [
        (&["--opponents", "/nowhere"][..], 1, "run `bash bench/functions/install` first"),
        (&["--requests", "4"], 2, "--requests"),
        (&["--starts", "0"], 2, "--starts"),
        (&["--update"], 2, "--short"),
        (&["--short", "--plot", "x.svg"], 2, "--plot"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.contains(what), "{arguments:?}: {text}");
    }
}
