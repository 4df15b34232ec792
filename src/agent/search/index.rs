//! The index of a tree, and the rule that turns scores into hits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::OnceCell;

use super::lexical::LexicalIndex;
use crate::agent::video::VideoEnvironment;
use crate::domain::{CallTag, ChatError, ContentHash, EmbedModel, EmbedReply, EmbedRequest, NodeId};

/// One node found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The node.
    pub node: NodeId,
    /// The higher the better; comparable within one search only.
    pub score: f64,
}

/// Texts per embedding call: servers bound the size of a batch.
const EMBED_BATCH: usize = 64;

/// Indexes of the trees in use, by tree hash: built once, shared by all questions, the oldest dropped first.
#[derive(Debug)]
pub struct TreeIndexes {
    held: Mutex<Held>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Held {
    by_hash: HashMap<ContentHash, Arc<TreeIndex>>,
    order: VecDeque<ContentHash>,
}

#[derive(Debug)]
struct TreeIndex {
    nodes: Vec<NodeId>,
    documents: Vec<String>,
    lexical: OnceLock<LexicalIndex>,
    vectors: OnceCell<Vec<Vec<f32>>>,
}

impl Default for TreeIndexes {
    /// Room for 1,024 trees, more than any benchmark's videos at once.
    fn default() -> Self {
        Self::new(1_024)
    }
}

impl TreeIndexes {
    /// At most `capacity` trees are held at a time; at least 1.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { held: Mutex::default(), capacity: capacity.max(1) }
    }

    fn of(&self, video: &VideoEnvironment) -> Arc<TreeIndex> {
        let hash = video.hash();
        // A map stays usable if a panic interrupted another holder.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = held.by_hash.get(&hash) {
            return Arc::clone(index);
        }
        let index = Arc::new(TreeIndex::new(video));
        held.by_hash.insert(hash, Arc::clone(&index));
        held.order.push_back(hash);
        while held.order.len() > self.capacity {
            if let Some(oldest) = held.order.pop_front() {
                held.by_hash.remove(&oldest);
            }
        }
        index
    }
}

impl TreeIndex {
    fn new(video: &VideoEnvironment) -> Self {
        let documents = video.tree().nodes.iter().map(|(id, node)| {
            let subtitle = node.subtitle.as_deref().unwrap_or_default();
            (id.clone(), format!("{}\n{subtitle}", node.card_text()))
        });
        let (nodes, documents) = documents.unzip();
        Self { nodes, documents, lexical: OnceLock::new(), vectors: OnceCell::new() }
    }

    fn lexical(&self) -> &LexicalIndex {
        self.lexical.get_or_init(|| LexicalIndex::new(&self.documents))
    }

    /// One vector per node; failures are not remembered.
    async fn vectors(&self, model: &dyn EmbedModel, tag: &CallTag) -> Result<&Vec<Vec<f32>>, ChatError> {
        let build = async || {
            let mut vectors = Vec::with_capacity(self.documents.len());
            for batch in self.documents.chunks(EMBED_BATCH) {
                let request = EmbedRequest { texts: batch.to_vec(), tag: tag.clone() };
                vectors.extend(model.embed(request).await?.vectors);
            }
            Ok(vectors)
        };
        self.vectors.get_or_try_init(build).await
    }
}

/// The best `k` nodes for a query, by words, or by vectors if a model is given; and the query's own embedding call.
///
/// # Errors
/// The embedding model failed.
pub(in crate::agent) async fn search(
    indexes: &TreeIndexes,
    video: &VideoEnvironment,
    query: &str,
    k: usize,
    embedding: Option<(&dyn EmbedModel, CallTag)>,
) -> Result<(Vec<Hit>, Option<EmbedReply>), ChatError> {
    let index = indexes.of(video);
    let (scores, reply) = match embedding {
        None => (index.lexical().scores(query), None),
        Some((model, tag)) => {
            // The tree's own vectors belong to no question: whoever comes first asks for all.
            let shared = CallTag { item: format!("tree-{}", video.hash().short()), sample: 0, ..tag.clone() };
            let vectors = index.vectors(model, &shared).await?;
            let reply = model.embed(EmbedRequest { texts: vec![query.to_owned()], tag }).await?;
            let wanted = reply.vectors.first().map(Vec::as_slice).unwrap_or_default();
            let scores = vectors.iter().map(|vector| cosine(vector, wanted)).enumerate();
            (scores.filter(|(_, score)| *score > 0.0).collect(), Some(reply))
        }
    };
    Ok((best(&index.nodes, scores, video, k), reply))
}

/// Whether a query can find anything by words.
pub(in crate::agent) fn is_searchable(query: &str) -> bool {
    LexicalIndex::has_words(query)
}

/// The top `k`, in order of score, then of time, then of id. An ancestor of a hit is dropped: the hit says the same
/// more exactly, and its place goes to the next node.
fn best(nodes: &[NodeId], mut scores: Vec<(usize, f64)>, video: &VideoEnvironment, k: usize) -> Vec<Hit> {
    let start = |place: &usize| {
        nodes.get(*place).and_then(|id| video.tree().nodes.get(id)).map_or(f64::MAX, |node| node.time_range.0)
    };
    scores.sort_by(|(a, a_score), (b, b_score)| {
        b_score.total_cmp(a_score).then(start(a).total_cmp(&start(b))).then(a.cmp(b))
    });
    let mut hits: Vec<Hit> = Vec::new();
    for (place, score) in scores {
        let Some(node) = nodes.get(place) else { continue };
        if hits.iter().any(|hit| video.is_ancestor(node, &hit.node)) {
            continue;
        }
        if let Some(above) = hits.iter_mut().find(|hit| video.is_ancestor(&hit.node, node)) {
            // It takes the place that its ancestor had earned.
            above.node = node.clone();
        } else if hits.len() < k {
            hits.push(Hit { node: node.clone(), score });
        } else {
            break;
        }
    }
    hits
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let sum = |left: &[f32], right: &[f32]| -> f64 {
        left.iter().zip(right).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
    };
    let norm = (sum(a, a) * sum(b, b)).sqrt();
    if norm > 0.0 { sum(a, b) / norm } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::video;

    async fn found(query: &str, k: usize) -> Vec<String> {
        let video = video();
        let (hits, _) = search(&TreeIndexes::default(), &video, query, k, None).await.unwrap();
        hits.into_iter().map(|hit| hit.node.to_string()).collect()
    }

    #[tokio::test]
    async fn an_ancestor_of_a_hit_is_dropped() {
        // "dog" stands in the scene, the event and the frame: the frame says it most exactly.
        assert_eq!(found("dog", 5).await, ["v_L3_000"]);
    }

    #[tokio::test]
    async fn no_more_than_k_nodes_are_found_and_none_without_a_word() {
        assert_eq!(found("dog kitchen soup", 1).await.len(), 1);
        assert!(found("submarine", 5).await.is_empty());
        assert!(!is_searchable("the of … ?!"));
    }

    #[tokio::test]
    async fn an_index_is_built_once_per_tree_and_the_oldest_goes_first() {
        let indexes = TreeIndexes::new(1);
        let (one, same) = (video(), video());
        assert!(Arc::ptr_eq(&indexes.of(&one), &indexes.of(&same)));
        let other = crate::agent::testing::other_video();
        let before = indexes.of(&one);
        indexes.of(&other);
        assert!(!Arc::ptr_eq(&before, &indexes.of(&one)));
    }
}
