//! Ranking by words: BM25 over the text of every node.

use std::collections::HashSet;

use bm25::{Embedder, EmbedderBuilder, Embedding, Scorer, Tokenizer};

use super::words::Words;

/// A BM25 index over documents that are known by their place.
pub(super) struct LexicalIndex {
    embedder: Embedder<u64, Words>,
    scorer: Scorer<usize, u64>,
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LexicalIndex").finish_non_exhaustive()
    }
}

impl LexicalIndex {
    /// Reads the documents; each is known by its place afterwards.
    pub(super) fn new(documents: &[String]) -> Self {
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        let embedder: Embedder<u64, Words> = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Words, &texts).build();
        let mut scorer = Scorer::new();
        for (place, text) in texts.iter().enumerate() {
            scorer.upsert(&place, distinct(embedder.embed(text)));
        }
        Self { embedder, scorer }
    }

    /// Documents that share a word with the query, with their scores above 0, in no order.
    pub(super) fn scores(&self, query: &str) -> Vec<(usize, f64)> {
        let query = distinct(self.embedder.embed(query));
        self.scorer
            .matches(&query)
            .into_iter()
            .map(|hit| (hit.id, f64::from(hit.score)))
            .filter(|(_, score)| score.is_finite() && *score > 0.0)
            .collect()
    }

    /// Whether the query holds any word at all.
    pub(super) fn has_words(query: &str) -> bool {
        !Words.tokenize(query).is_empty()
    }
}

/// Each word once, in order of first appearance: the sum of a score then has one order.
fn distinct(embedding: Embedding<u64>) -> Embedding<u64> {
    let mut seen = HashSet::new();
    Embedding(embedding.0.into_iter().filter(|token| seen.insert(token.index)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(documents: &[&str], query: &str) -> Option<usize> {
        let documents: Vec<String> = documents.iter().map(|text| (*text).to_owned()).collect();
        let mut scores = LexicalIndex::new(&documents).scores(query);
        scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scores.first().map(|(place, _)| *place)
    }

    #[test]
    fn rare_words_decide() {
        let documents = ["a man walks a dog", "a man opens a red box", "a man and a man talk"];
        assert_eq!(best(&documents, "the man with the boxes"), Some(1));
        assert_eq!(best(&documents, "submarine"), None);
    }

    #[test]
    fn chinese_is_found_by_its_words() {
        let documents = ["一个男人在公园里遛狗", "女人打开红色的箱子", "孩子们在踢足球"];
        assert_eq!(best(&documents, "谁打开了箱子"), Some(1));
        assert_eq!(best(&documents, "踢足球"), Some(2));
    }
}
