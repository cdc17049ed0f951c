//! Sends files to a machine's `scp`, as the sending end of its protocol.

use std::collections::VecDeque;

use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf, client::Msg};
use tokio::time::{Instant, timeout, timeout_at};

use crate::session::{NO_COMMANDS, PATIENCE, Session, silent};

/// Longest text that the other end's complaint is told of.
const LONGEST_COMPLAINT: usize = 1000;
/// So many bytes of answers wait at most; one that says more at once says nothing that is asked for.
const MOST_ANSWERS: usize = 2 * LONGEST_COMPLAINT;
/// A file goes in pieces of this size, each within its own time.
const PIECE: usize = 64 << 10;

/// A running `scp` of the other end.
pub(crate) struct Scp {
    read: ChannelReadHalf,
    write: ChannelWriteHalf<Msg>,
    answers: VecDeque<u8>,
    complaint: String,
    status: Option<u32>,
    refused: bool,
    /// Has it said that it says nothing more?
    mute: bool,
}

/// What a message was.
#[derive(PartialEq, Eq)]
enum Heard {
    Something,
    /// No other follows.
    End,
}

impl Scp {
    /// Has `scp` take what comes into a folder; folders, too, if `deep`.
    pub(crate) async fn start(session: &Session, folder: &str, deep: bool) -> Result<Self, String> {
        let flag = if deep { "-rt" } else { "-t" };
        let command = format!("scp {flag} {}", quoted(folder));
        let (read, write) = session.command(&command, false).await?.split();
        let mut scp = Self {
            read,
            write,
            answers: VecDeque::new(),
            complaint: String::new(),
            status: None,
            refused: false,
            mute: false,
        };
        scp.answered().await?;
        Ok(scp)
    }

    /// Sends one file.
    pub(crate) async fn file(&mut self, name: &str, content: &[u8]) -> Result<(), String> {
        self.say(format!("C0644 {} {}\n", content.len(), sound(name)?).as_bytes())
            .await?;
        self.answered().await?;
        self.say(content).await?;
        self.say(&[0]).await?;
        self.answered().await
    }

    /// What is sent from now on lies in a folder of this name.
    pub(crate) async fn enter(&mut self, name: &str) -> Result<(), String> {
        self.say(format!("D0755 0 {}\n", sound(name)?).as_bytes()).await?;
        self.answered().await
    }

    /// Ends that.
    pub(crate) async fn leave(&mut self) -> Result<(), String> {
        self.say(b"E\n").await?;
        self.answered().await
    }

    /// Waits until all is there.
    pub(crate) async fn finish(mut self) -> Result<(), String> {
        // One that is gone already is told by its status.
        let _ = self.write.eof().await;
        let end = Instant::now() + PATIENCE;
        while !(self.mute && self.status.is_some()) {
            // Nothing that it says now is asked for.
            self.answers.clear();
            match timeout_at(end, self.hear()).await {
                Ok(Heard::Something) => {}
                Ok(Heard::End) => break,
                Err(_) if self.status.is_some() => break,
                Err(_) => return Err(format!("{}{}", silent(), self.words())),
            }
        }
        match self.status {
            Some(0) => Ok(()),
            Some(127) => Err("the machine has no scp".to_owned()),
            Some(status) => Err(format!("scp exited with status {status}{}", self.words())),
            None => Err(format!("the connection broke off{}", self.words())),
        }
    }

    async fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        for piece in bytes.chunks(PIECE) {
            match timeout(PATIENCE, self.write.data(piece)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return Err(format!("the connection broke off{}", self.words())),
                Err(_) => return Err(format!("{}{}", silent(), self.words())),
            }
        }
        Ok(())
    }

    /// Waits for the other end to say that it goes well.
    async fn answered(&mut self) -> Result<(), String> {
        let end = Instant::now() + PATIENCE;
        if self.byte(end).await? == 0 {
            return Ok(());
        }
        let mut words = Vec::new();
        while let Ok(byte) = self.byte(end).await {
            if byte == b'\n' || words.len() > LONGEST_COMPLAINT {
                break;
            }
            words.push(byte);
        }
        Err(String::from_utf8_lossy(&words).trim().to_owned())
    }

    async fn byte(&mut self, end: Instant) -> Result<u8, String> {
        loop {
            if let Some(byte) = self.answers.pop_front() {
                return Ok(byte);
            }
            match timeout_at(end, self.hear()).await {
                Ok(Heard::Something) if !(self.mute && self.status.is_some()) => {}
                Ok(_) => {
                    return Err(match (self.refused, self.status) {
                        (true, _) => NO_COMMANDS.to_owned(),
                        (false, Some(127)) => "the machine has no scp".to_owned(),
                        (false, _) => format!("scp ended early{}", self.words()),
                    });
                }
                Err(_) => return Err(format!("{}{}", silent(), self.words())),
            }
        }
    }

    /// Takes in one message.
    async fn hear(&mut self) -> Heard {
        match self.read.wait().await {
            Some(ChannelMsg::Data { data }) => {
                let room = MOST_ANSWERS.saturating_sub(self.answers.len());
                self.answers.extend(data.iter().take(room));
            }
            Some(ChannelMsg::ExtendedData { data, .. }) => {
                let room = LONGEST_COMPLAINT.saturating_sub(self.complaint.len());
                let data = data.get(..room.min(data.len())).unwrap_or_default();
                self.complaint.push_str(&String::from_utf8_lossy(data));
            }
            Some(ChannelMsg::ExitStatus { exit_status }) => self.status = Some(exit_status),
            Some(ChannelMsg::Eof) => self.mute = true,
            Some(ChannelMsg::Failure) => {
                self.refused = true;
                return Heard::End;
            }
            Some(ChannelMsg::Close) | None => return Heard::End,
            Some(_) => {}
        }
        Heard::Something
    }

    fn words(&self) -> String {
        match self.complaint.trim() {
            "" => String::new(),
            words => format!(": {words}"),
        }
    }
}

/// A name that means itself in the protocol, and no place elsewhere.
fn sound(name: &str) -> Result<&str, String> {
    if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\n', '\0']) {
        return Err(format!("{name:?} is no name that a file can be sent by"));
    }
    Ok(name)
}

/// A word of a POSIX shell's command line.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_one_word_and_a_name_leads_nowhere() {
        assert_eq!(quoted("a b'c"), "'a b'\\''c'");
        assert!(sound("a b").is_ok());
        for name in ["", ".", "..", "a/b", "a\nC0644 1 b"] {
            assert!(sound(name).is_err(), "{name:?}");
        }
    }
}
