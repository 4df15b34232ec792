//! The messages of one walk, and the rule by which they are trimmed to the context.

use super::text::{cut, cut_to_tokens, estimated_tokens};
use crate::domain::{Message, MessageRole};

/// A tool result that had to give way keeps so many characters.
const TRIMMED_CHARS: usize = 200;

/// What a message costs beside its text.
const TOKENS_PER_MESSAGE: usize = 6;

/// The messages so far: the system message, the question, then turns of the model with their results.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    head: Vec<Message>,
    turns: Vec<[Message; 2]>,
    left_out: usize,
    budget: usize,
}

impl Conversation {
    /// `budget` is the room for all messages, in tokens.
    pub(super) fn new(system: String, question: String, budget: usize) -> Self {
        Self { head: vec![Message::system(system), Message::user(question)], turns: Vec::new(), left_out: 0, budget }
    }

    /// Adds a turn and what was answered to it, then trims.
    pub(super) fn push(&mut self, said: String, answered: String) {
        self.turns.push([Message::assistant(said), Message::user(answered)]);
        if self.tokens() > self.budget {
            self.trim();
        }
    }

    /// The messages to send.
    pub(super) fn messages(&self) -> Vec<Message> {
        let mut messages = self.head.clone();
        if self.left_out > 0
            && let Some(question) = messages.last_mut()
        {
            question.content.push_str(&format!("\n\n[{} earlier turns are left out.]", self.left_out));
        }
        messages.extend(self.turns.iter().flatten().cloned());
        messages
    }

    /// Estimated tokens of all messages.
    pub(super) fn tokens(&self) -> usize {
        self.head.iter().chain(self.turns.iter().flatten()).map(cost).sum()
    }

    /// The rule, stated in the guide. What comes first gives way first, until three quarters of the room are used, so
    /// that the next turns leave what is already read untouched:
    /// 1. results of older turns are cut to 200 characters, oldest first;
    /// 2. older turns are left out, oldest first;
    /// 3. the newest result, then the newest turn, is cut to what is left of the whole room.
    ///
    /// The system message and the question are never cut.
    fn trim(&mut self) {
        let target = self.budget / 4 * 3;
        let older = self.turns.len().saturating_sub(1);
        for place in 0..older {
            if self.tokens() <= target {
                return;
            }
            if let Some([_, result]) = self.turns.get_mut(place) {
                result.content = cut(&result.content, TRIMMED_CHARS);
            }
        }
        while self.turns.len() > 1 && self.tokens() > target {
            self.turns.remove(0);
            self.left_out += 1;
        }
        for part in [1, 0] {
            let over = self.tokens().saturating_sub(self.budget);
            if over == 0 {
                return;
            }
            if let Some(message) = self.turns.last_mut().and_then(|turn| turn.get_mut(part)) {
                let keep = estimated_tokens(&message.content).saturating_sub(over).max(20);
                // The end of a result tells the steps used: it stays.
                let end = message.content.rsplit_once("\n\n").map_or("", |(_, end)| end).to_owned();
                let end =
                    if part == 1 && estimated_tokens(&end) < keep / 2 { format!("\n\n{end}") } else { String::new() };
                let room = keep.saturating_sub(estimated_tokens(&end));
                message.content = format!("{}{end}", cut_to_tokens(&message.content, room));
            }
        }
    }
}

fn cost(message: &Message) -> usize {
    debug_assert!(message.images.is_empty() || message.role == MessageRole::User);
    estimated_tokens(&message.content) + TOKENS_PER_MESSAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(word: &str) -> String {
        format!("{}\n\nSteps used: 3 of 40.", format!("{word} ").repeat(200))
    }

    #[test]
    fn nothing_is_trimmed_while_it_fits() {
        let mut conversation = Conversation::new("system".into(), "question".into(), 10_000);
        conversation.push("said".into(), long("one"));
        assert_eq!(conversation.messages()[3].content, long("one"));
        assert_eq!(conversation.messages().len(), 4);
    }

    #[test]
    fn older_results_give_way_first_and_the_newest_last() {
        let mut conversation = Conversation::new("system".into(), "question".into(), 900);
        for word in ["one", "two", "three", "four"] {
            conversation.push(format!("said {word}"), long(word));
        }
        let messages = conversation.messages();
        assert!(conversation.tokens() <= 900);
        assert_eq!(messages[0].content, "system");
        assert!(messages[1].content.starts_with("question"));
        assert_eq!(messages.last().unwrap().content, long("four"));
        assert!(messages[3].content.starts_with("one") && messages[3].content.len() < 300);
    }

    #[test]
    fn turns_are_left_out_and_counted_when_cutting_is_not_enough() {
        let mut conversation = Conversation::new("system".into(), "question".into(), 260);
        for place in 0..12 {
            conversation.push(format!("said {place} {}", "word ".repeat(20)), "result".into());
        }
        assert!(conversation.tokens() <= 260);
        assert!(conversation.messages()[1].content.contains("earlier turns are left out"));
    }

    #[test]
    fn a_newest_result_too_long_for_the_room_is_cut_and_keeps_its_end() {
        let mut conversation = Conversation::new("system".into(), "question".into(), 200);
        conversation.push("said".into(), long("one"));
        let last = conversation.messages().pop().unwrap().content;
        assert!(last.ends_with("Steps used: 3 of 40.") && last.len() < 800, "{last}");
        assert!(conversation.tokens() <= 210);
    }
}
