//! The program of ours that links the real allocator: a question goes in as a line of JSON, its answer comes out as one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    pub(crate) fn start(program: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(program)
            .env("GOMAXPROCS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take();
        let output = child
            .stdout
            .take()
            .ok_or_else(|| std::io::Error::other("the allocator has no output"))?;
        Ok(Pipe {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    pub(crate) fn ask(&mut self, question: &Value) -> std::io::Result<Value> {
        let input = self
            .input
            .as_mut()
            .ok_or_else(|| std::io::Error::other("the allocator has no input"))?;
        input.write_all(format!("{question}\n").as_bytes())?;
        input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }
}

/// It ends with its input.
impl Drop for Pipe {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
