//! Orchestration: workspace, versions, pools, batches, training, slow update.
