//! A text made smaller while it differs in the same way.

use super::{
    judge::{self, Outcome, Text, What},
    peer::Peer,
};

/// How many texts are tried for one difference.
const TRIES: usize = 3_000;

/// The smallest text found that differs likewise.
pub(crate) fn shrink(text: &Text, what: What, peer: &mut Peer) -> anyhow::Result<Text> {
    let mut best = text.clone();
    let mut tries = 0;
    let mut size = best.text.chars().count() / 2;
    while size > 0 {
        let mut shorter = false;
        let mut at = 0;
        loop {
            let chars: Vec<char> = best.text.chars().collect();
            if at >= chars.len() {
                break;
            }
            tries += 1;
            if tries > TRIES {
                return Ok(best);
            }
            let kept = chars.iter().take(at).chain(chars.iter().skip(at + size));
            let candidate = Text {
                text: kept.collect(),
                ..best.clone()
            };
            if matches!(judge::judge(&candidate, peer)?, Outcome::Differ(difference) if difference.what == what)
            {
                best = candidate;
                shorter = true;
            } else {
                at += size;
            }
        }
        if !shorter || size > 1 {
            size /= 2;
        }
    }
    Ok(best)
}
