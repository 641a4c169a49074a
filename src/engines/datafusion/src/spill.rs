//! The folder of the files that DataFusion needs meanwhile. This process holds its lock: so what one that was killed
//! left is known, and goes when the next one begins.

use std::sync::Arc;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use lacuna::lazy::outside::Spill;

/// The folder, which is there as long as this, and what DataFusion is told of it. Where none can be made, nothing is
/// written, and what does not fit memory is refused.
pub(crate) fn folder() -> (Arc<Spill>, DiskManagerBuilder) {
    let spill = Spill::new(None);
    let mode = match spill.folder() {
        Ok(folder) => DiskManagerMode::Directories(vec![folder]),
        Err(_) => DiskManagerMode::Disabled,
    };
    (Arc::new(spill), DiskManagerBuilder::default().with_mode(mode))
}
