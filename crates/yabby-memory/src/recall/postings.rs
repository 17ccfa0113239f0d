//! Where a term occurs: for each block of documents two bytes per document, the place in the block and how
//! often.

use super::schema::POSTING_BLOCK;

/// A document and how often it has the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) document: u32,
    pub(super) count: u8,
}

const COUNT_BITS: u32 = 4;
const MOST: u32 = (1 << COUNT_BITS) - 1;

impl Posting {
    pub(super) fn block(self) -> u32 {
        self.document / POSTING_BLOCK
    }

    pub(super) fn bytes(self) -> [u8; 2] {
        let count = u32::from(self.count).clamp(1, MOST);
        let packed = ((self.document % POSTING_BLOCK) << COUNT_BITS) | count;
        u16::try_from(packed).unwrap_or_default().to_le_bytes()
    }
}

/// The postings of a block.
pub(super) fn read(block: u32, data: &[u8]) -> impl Iterator<Item = Posting> {
    data.chunks_exact(2).map(move |bytes| {
        let packed = u32::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        Posting {
            document: block * POSTING_BLOCK + (packed >> COUNT_BITS),
            count: u8::try_from(packed & MOST).unwrap_or(1),
        }
    })
}

/// What is left of a block without some documents.
pub(super) fn without(block: u32, data: &[u8], gone: &dyn Fn(u32) -> bool) -> Vec<u8> {
    read(block, data).filter(|posting| !gone(posting.document)).flat_map(Posting::bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_come_back_as_they_were() {
        let postings =
            [(4096, 1), (4097, 15), (8191, 3)].map(|(document, count)| Posting { document, count });
        let data: Vec<u8> = postings.iter().flat_map(|posting| posting.bytes()).collect();
        assert!(postings.iter().all(|posting| posting.block() == 1));
        assert_eq!(read(1, &data).collect::<Vec<_>>(), postings);
        let left = without(1, &data, &|document| document == 4097);
        assert_eq!(read(1, &left).collect::<Vec<_>>(), [postings[0], postings[2]]);
        // More often than can be told is often.
        let often = Posting { document: 0, count: 200 };
        assert_eq!(read(0, &often.bytes()).next(), Some(Posting { document: 0, count: 15 }));
    }
}
