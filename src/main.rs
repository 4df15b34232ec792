//! The `trm` binary: hands the arguments to [`trm::cli`] and exits with its code.

fn main() -> std::process::ExitCode {
    trm::cli::run(std::env::args_os())
}
