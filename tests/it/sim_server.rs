//! `trm sim serve` as a process of its own, ended when the test ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running server.
pub(crate) struct SimServer {
    child: Child,
    /// Its address, up to `/v1`.
    pub(crate) url: String,
}

impl SimServer {
    /// Serves the world of this workspace on a free port; `arguments` are further ones of the command.
    pub(crate) fn start(workspace: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_trm"))
            .env_clear()
            .arg("-C")
            .arg(workspace)
            .args(["--json", "sim", "serve", "--port", "0"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut urls = lines.filter_map(|line| Some(line.split_once("\"url\": \"")?.1.split_once('"')?.0.to_owned()));
        let url = urls.next().unwrap_or_else(|| panic!("trm sim serve ended without an address"));
        Self { child, url }
    }

    /// The settings that send these roles to it.
    pub(crate) fn settings(&self, roles: &[&str]) -> Vec<String> {
        roles
            .iter()
            .flat_map(|role| {
                [
                    format!("llm.{role}.provider=openai"),
                    format!("llm.{role}.base_urls={}", self.url),
                    format!("llm.{role}.model=sim-{role}"),
                ]
            })
            .flat_map(|setting| ["--set".to_owned(), setting])
            .collect()
    }
}

impl Drop for SimServer {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}
