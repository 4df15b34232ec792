//! The form of every stored value, in this one module, so that the encoding can be replaced in a day.
//!
//! A value is an envelope and a body:
//!
//! | bytes | meaning |
//! |---|---|
//! | 0 | form: 1 plain, 2 zstd |
//! | 1 | version of the record's fields |
//! | 2..6 | CRC-32 (little endian) of bytes 0, 1 and of the body |
//! | 6.. | the record in bincode; for zstd the frame of it |
//!
//! The checksum exists because the database verifies its own only when it repairs: a flipped bit in
//! a text would otherwise be read as another text. bincode is not self-describing, so records
//! contain no free JSON values, no flattened and no skipped fields (design 10).

use bincode::config::{Configuration, Limit, LittleEndian, Varint, standard};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::{ContentHash, Hasher};

/// The largest record, encoded and uncompressed, in bytes. Without a limit a bad length prefix
/// would make the decoder reserve memory until the process dies.
pub(crate) const RECORD_LIMIT: usize = 64 << 20;

const ENVELOPE: usize = 6;
const ZSTD_LEVEL: i32 = 3;

fn config() -> Configuration<LittleEndian, Varint, Limit<RECORD_LIMIT>> {
    standard().with_limit::<RECORD_LIMIT>()
}

/// Whether a record's body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As bincode wrote it.
    Plain,
    /// Compressed with zstd: for texts of several kilobytes.
    Zstd,
}

/// A stored struct. Its fields never change their meaning: a change of a field is a new version,
/// and the older struct stays readable through [`Record::upgrade`].
pub trait Record: Serialize + DeserializeOwned + Send + 'static {
    /// The name in messages.
    const NAME: &'static str;
    /// The version that is written.
    const VERSION: u8 = 1;
    /// How the body is written.
    const FORM: Form = Form::Plain;

    /// Reads the body of an older version; `None` if there never was such a version.
    ///
    /// # Errors
    /// The body is not what that version wrote.
    fn upgrade(version: u8, body: &[u8]) -> Result<Option<Self>, CodecError> {
        let (_, _) = (version, body);
        Ok(None)
    }
}

/// A value that cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// Shorter than its own envelope.
    #[error("{0} bytes are too few for a value")]
    TooShort(usize),
    /// The bytes are not those that were written.
    #[error("its checksum is wrong: the bytes changed after they were written")]
    Checksum,
    /// Neither plain nor zstd.
    #[error("its form is {0}, which this program does not know")]
    UnknownForm(u8),
    /// A version that this program never wrote, or does not know yet.
    #[error("its version is {found}, this program knows up to {known}")]
    UnknownVersion {
        /// The version of the value.
        found: u8,
        /// The newest known one.
        known: u8,
    },
    /// The fields do not follow.
    #[error("it does not decode: {0}")]
    Malformed(String),
    /// A length inside it is larger than any record.
    #[error("a length in it exceeds the limit of a record")]
    BadLength,
    /// Bytes are left after the last field.
    #[error("{0} bytes are left after its last field")]
    Trailing(usize),
    /// Too large to be written.
    #[error("it has {0} bytes, a record has at most {RECORD_LIMIT}")]
    TooLarge(usize),
}

/// Encodes a record for storage.
///
/// # Errors
/// It is larger than [`RECORD_LIMIT`].
pub(crate) fn encode<R: Record>(record: &R) -> Result<Vec<u8>, CodecError> {
    let body = body_of(record)?;
    Ok(match R::FORM {
        Form::Plain => seal(1, R::VERSION, &body),
        Form::Zstd => {
            let packed = zstd::bulk::compress(&body, ZSTD_LEVEL)
                .map_err(|error| CodecError::Malformed(format!("compression failed: {error}")))?;
            seal(2, R::VERSION, &packed)
        }
    })
}

/// A hash of a record's fields, independent of compression.
///
/// # Errors
/// It is larger than [`RECORD_LIMIT`].
pub(crate) fn content_hash<R: Record>(record: &R) -> Result<ContentHash, CodecError> {
    Ok(Hasher::new(R::NAME).part([R::VERSION]).part(body_of(record)?).finish())
}

/// Decodes a stored value.
///
/// # Errors
/// The bytes are damaged, of an unknown version, or not of this record.
pub(crate) fn decode<R: Record>(bytes: &[u8]) -> Result<R, CodecError> {
    let (version, body) = open(bytes)?;
    if version == R::VERSION {
        return from_body(&body);
    }
    R::upgrade(version, &body)?.ok_or(CodecError::UnknownVersion { found: version, known: R::VERSION })
}

/// Decodes a body that has no envelope; every byte must be used.
///
/// # Errors
/// The bytes are not of this type.
pub(crate) fn from_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, CodecError> {
    use bincode::error::DecodeError;
    let (value, read) = bincode::serde::decode_from_slice(body, config()).map_err(|error| {
        if matches!(error, DecodeError::LimitExceeded) {
            return CodecError::BadLength;
        }
        // The decoder's own words may quote text of the record: they are cut and escaped.
        CodecError::Malformed(error.to_string().escape_debug().take(200).collect())
    })?;
    match body.len().saturating_sub(read) {
        0 => Ok(value),
        left => Err(CodecError::Trailing(left)),
    }
}

fn body_of<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let body =
        bincode::serde::encode_to_vec(value, config()).map_err(|error| CodecError::Malformed(error.to_string()))?;
    if body.len() > RECORD_LIMIT { Err(CodecError::TooLarge(body.len())) } else { Ok(body) }
}

fn checksum(form: u8, version: u8, body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[form, version]);
    hasher.update(body);
    hasher.finalize()
}

fn seal(form: u8, version: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENVELOPE + body.len());
    bytes.extend_from_slice(&[form, version]);
    bytes.extend_from_slice(&checksum(form, version, body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn open(bytes: &[u8]) -> Result<(u8, std::borrow::Cow<'_, [u8]>), CodecError> {
    use std::borrow::Cow;
    let Some(([form, version, a, b, c, d], body)) = bytes.split_first_chunk::<ENVELOPE>() else {
        return Err(CodecError::TooShort(bytes.len()));
    };
    if u32::from_le_bytes([*a, *b, *c, *d]) != checksum(*form, *version, body) {
        return Err(CodecError::Checksum);
    }
    let body = match form {
        1 => Cow::Borrowed(body),
        2 => Cow::Owned(zstd::bulk::decompress(body, RECORD_LIMIT).map_err(|_| CodecError::BadLength)?),
        other => return Err(CodecError::UnknownForm(*other)),
    };
    Ok((*version, body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Sample {
        text: String,
        numbers: Vec<u32>,
        share: Option<f64>,
    }

    impl Record for Sample {
        const NAME: &'static str = "sample";
        const VERSION: u8 = 2;

        fn upgrade(version: u8, body: &[u8]) -> Result<Option<Self>, CodecError> {
            let text = |text| Self { text, numbers: vec![], share: None };
            if version == 1 { from_body(body).map(text).map(Some) } else { Ok(None) }
        }
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Packed(String);

    impl Record for Packed {
        const NAME: &'static str = "packed";
        const FORM: Form = Form::Zstd;
    }

    fn sample() -> Sample {
        Sample { text: "abc".into(), numbers: vec![1, 300], share: Some(0.5) }
    }

    #[test]
    fn the_bytes_on_disk_do_not_change() {
        let bytes = encode(&sample()).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "0102e58ba178036162630201fb2c0101000000000000e03f");
        assert_eq!(decode::<Sample>(&bytes), Ok(sample()));
    }

    #[test]
    fn an_older_version_is_read_and_an_unknown_one_is_named() {
        let old = seal(1, 1, &body_of(&"abc").unwrap());
        assert_eq!(decode::<Sample>(&old).unwrap().text, "abc");
        let newer = seal(1, 9, &body_of(&sample()).unwrap());
        assert_eq!(decode::<Sample>(&newer), Err(CodecError::UnknownVersion { found: 9, known: 2 }));
    }

    #[test]
    fn more_or_fewer_bytes_than_the_fields_are_errors() {
        let mut body = body_of(&sample()).unwrap();
        body.push(0);
        assert_eq!(decode::<Sample>(&seal(1, 2, &body)), Err(CodecError::Trailing(1)));
        body.truncate(5);
        assert!(matches!(decode::<Sample>(&seal(1, 2, &body)), Err(CodecError::Malformed(_))));
        assert_eq!(decode::<Sample>(&[1, 2, 3]), Err(CodecError::TooShort(3)));
    }

    #[test]
    fn a_bad_length_prefix_reserves_no_memory() {
        // 253 announces a 64-bit length.
        let mut body = vec![253];
        body.extend_from_slice(&(u64::MAX / 4).to_le_bytes());
        assert_eq!(decode::<Sample>(&seal(1, 2, &body)), Err(CodecError::BadLength));
        let bomb = zstd::bulk::compress(&vec![0; RECORD_LIMIT + 1], 3).unwrap();
        assert_eq!(decode::<Packed>(&seal(2, 1, &bomb)), Err(CodecError::BadLength));
    }

    proptest! {
        #[test]
        fn any_single_flipped_bit_is_noticed(place in 0_usize..24, bit in 0_u32..8) {
            let mut bytes = encode(&sample()).unwrap();
            let place = place % bytes.len();
            bytes[place] ^= 1 << bit;
            prop_assert!(decode::<Sample>(&bytes).is_err());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), form in 0_u8..4) {
            let _any = decode::<Sample>(&bytes);
            let _sealed = decode::<Sample>(&seal(form, 2, &bytes));
            let _packed = decode::<Packed>(&seal(form, 1, &bytes));
        }

        #[test]
        fn compressed_records_round_trip(text in ".{0,200}") {
            let packed = Packed(text);
            prop_assert_eq!(decode::<Packed>(&encode(&packed).unwrap()), Ok(packed));
        }
    }
}
