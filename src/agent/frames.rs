//! Frame files: found inside the video's own folder and nowhere else.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::domain::Image;

/// A larger file is no frame of a video.
const MAX_BYTES: u64 = 20 << 20;

/// Why a frame cannot be shown; the text goes into the health report and to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrameError {
    /// The name leaves the folder, directly or through a link.
    #[error("frame {file:?} lies outside of the video's folder")]
    Outside { file: String },
    /// There is no such file.
    #[error("frame {file:?} does not exist")]
    Missing { file: String },
    /// It exists and cannot be used.
    #[error("frame {file:?} cannot be used: {why}")]
    Unusable { file: String, why: String },
}

impl FrameError {
    /// Whether the file was there.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::Outside { .. } | Self::Missing { .. } => false,
            Self::Unusable { .. } => true,
        }
    }
}

/// Reads one frame of the video in `folder`.
///
/// The name must consist of plain components, and the file with all links resolved must lie below the resolved
/// `folder`: neither `..` nor a symbolic link leads out.
pub(super) fn read_frame(folder: &Path, file: &str) -> Result<Image, FrameError> {
    let name = || file.chars().take(200).collect::<String>();
    let path = resolve(folder, file)?;
    let unusable = |why: String| FrameError::Unusable { file: name(), why };
    let size = fs::metadata(&path).map_err(|error| unusable(error.to_string()))?;
    if !size.is_file() {
        return Err(unusable("it is no file".to_owned()));
    }
    if size.len() > MAX_BYTES {
        return Err(unusable(format!("{} bytes are too many", size.len())));
    }
    let bytes = fs::read(&path).map_err(|error| unusable(error.to_string()))?;
    match media_type(&bytes) {
        Some(media_type) => Ok(Image { media_type: media_type.to_owned(), bytes }),
        None => Err(unusable("it is neither JPEG, PNG, WebP nor GIF".to_owned())),
    }
}

fn resolve(folder: &Path, file: &str) -> Result<PathBuf, FrameError> {
    let name = || file.chars().take(200).collect::<String>();
    let relative = Path::new(file);
    let plain = relative.components().all(|component| matches!(component, Component::Normal(_)));
    if file.is_empty() || !plain || file.contains(['\0', '\\']) {
        return Err(FrameError::Outside { file: name() });
    }
    let missing = |_| FrameError::Missing { file: name() };
    let root = folder.canonicalize().map_err(missing)?;
    let path = root.join("frames").join(relative).canonicalize().map_err(missing)?;
    if path.starts_with(&root) { Ok(path) } else { Err(FrameError::Outside { file: name() }) }
}

/// By the first bytes: a name proves nothing.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    if starts(&[0xff, 0xd8, 0xff]) {
        Some("image/jpeg")
    } else if starts(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if starts(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else if starts(b"GIF8") {
        Some("image/gif")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    fn world() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("video/frames/sub")).unwrap();
        fs::write(root.path().join("video/frames/a.jpg"), PNG).unwrap();
        fs::write(root.path().join("video/frames/sub/b.png"), PNG).unwrap();
        fs::write(root.path().join("video/frames/text.jpg"), "no image").unwrap();
        fs::write(root.path().join("secret.png"), PNG).unwrap();
        root
    }

    #[test]
    fn frames_are_read_and_known_by_their_bytes() {
        let root = world();
        let video = root.path().join("video");
        assert_eq!(read_frame(&video, "a.jpg").unwrap().media_type, "image/png");
        assert!(read_frame(&video, "sub/b.png").is_ok());
        assert!(matches!(read_frame(&video, "text.jpg"), Err(FrameError::Unusable { .. })));
        assert!(matches!(read_frame(&video, "sub"), Err(FrameError::Unusable { .. })));
        assert!(matches!(read_frame(&video, "c.jpg"), Err(FrameError::Missing { .. })));
    }

    #[test]
    fn no_name_leads_out_of_the_folder() {
        let root = world();
        let video = root.path().join("video");
        let absolute = root.path().join("secret.png");
        for name in [
            "../secret.png",
            "../../secret.png",
            "sub/../../../secret.png",
            absolute.to_str().unwrap(),
            "",
            "..\\x",
            "a\0b",
        ] {
            assert!(matches!(read_frame(&video, name), Err(FrameError::Outside { .. })), "{name:?} was accepted");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_of_the_folder() {
        use std::os::unix::fs::symlink;
        let root = world();
        let video = root.path().join("video");
        symlink(root.path().join("secret.png"), video.join("frames/link.png")).unwrap();
        symlink(root.path(), video.join("frames/up")).unwrap();
        symlink(video.join("frames/a.jpg"), video.join("frames/inside.jpg")).unwrap();
        for name in ["link.png", "up/secret.png"] {
            assert!(matches!(read_frame(&video, name), Err(FrameError::Outside { .. })), "{name:?} was accepted");
        }
        assert!(read_frame(&video, "inside.jpg").is_ok());
    }
}
