//! A large question file streams: memory grows by what is kept of a question, not by what a question weighs.
//!
//! `TRM_LARGE_MB` is the size of the file (`tools/prove/import-large` takes 300).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::trm;

/// Writes questions of about 300 bytes until the file has so many bytes; returns how many there are.
fn write_questions(path: &Path, bytes: u64) -> u64 {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut count) = (0, 0_u64);
    while written < bytes {
        let line = format!(
            "{{\"question_id\": \"q{count:08}\", \"video_id\": \"v{:03}\", \"task_type\": \"Type {:02}\", \"question\": \"What \
             does the person in scene {count} do before the door is opened for the second time?\", \"options\": [\"A. \
             walk {count}\", \"B. run\", \"C. sit down\", \"D. read a letter\"], \"answer\": \"B\", \"difficulty\": \
             \"medium\"}}\n",
            count % 500,
            count % 12
        );
        file.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
        count += 1;
    }
    file.flush().unwrap();
    count
}

/// The most memory that a process ever held, in bytes, watched until it ends.
fn peak(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
        peak = peak.max(kib.unwrap_or(0) * 1024);
        if child.try_wait().unwrap().is_some() {
            return peak;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Imports into a fresh workspace, twice; peaks of both imports and the seconds of the first.
fn import(folder: &Path, file: &Path, count: u64) -> (u64, u64, f64) {
    let demo = folder.join(format!("demo-{count}"));
    trm().arg("init").arg(&demo).assert().success();
    let run = |expected: &str| {
        let begin = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_trm"))
            .env_clear()
            .arg("-C")
            .arg(&demo)
            .args(["--json", "import", "questions"])
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let peak = peak(&mut child);
        let output = child.wait_with_output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["questions"]["questions"], count);
        assert_eq!(report["questions"]["outcome"].as_str().unwrap_or("replaced"), expected);
        (peak, begin.elapsed().as_secs_f64())
    };
    let (first, seconds) = run("new");
    let (again, _) = run("unchanged");
    (first, again, seconds)
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_file_is_read_in_memory_that_is_a_small_part_of_it() {
    const MIB: u64 = 1 << 20;
    let megabytes = std::env::var("TRM_LARGE_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(12_u64);
    let folder = TempDir::new().unwrap();
    let (small, large) = (folder.path().join("small.jsonl"), folder.path().join("large.jsonl"));
    let few = write_questions(&small, MIB);
    let many = write_questions(&large, megabytes * MIB);
    let (base, base_again, _) = import(folder.path(), &small, few);
    let (first, again, seconds) = import(folder.path(), &large, many);
    let a_question = |peak: u64, base: u64| peak.saturating_sub(base) as f64 / (many - few) as f64;
    let (first_each, again_each) = (a_question(first, base), a_question(again, base_again));
    println!(
        "{megabytes} MiB, {many} questions: peak {:.0} MiB ({first_each:.0} bytes a question), importing again {:.0} MiB \
         ({again_each:.0} bytes a question), {seconds:.1} s in this build",
        first as f64 / MIB as f64,
        again as f64 / MIB as f64,
    );
    // A question of this file is about 300 bytes; holding its text once would show.
    assert!(first_each < 200.0, "{first_each:.0} bytes a question");
    assert!(again_each < 400.0, "{again_each:.0} bytes a question");
}
