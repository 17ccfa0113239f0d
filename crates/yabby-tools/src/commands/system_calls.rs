//! A filter of system calls (seccomp) for commands in bubblewrap: what namespaces and dropped capabilities leave open.
//!
//! - A user namespace in the namespace gives the capabilities back, and with them the control groups of the machine can be
//!   mounted, which are root's: whoever writes there freezes or ends any service.
//! - Keyrings belong to no namespace: a command reads the keys of the session in which the program was started.
//! - A file with a set-user-ID bit in the workspace runs as the user of the program, outside, for whoever can reach it.
//!   `openat2` and `io_uring` would make one past the filter, which cannot look into their memory.
//!
//! The filter is a program of the kernel's packet filter, instruction by instruction, as `bwrap --seccomp` reads it.

/// The calls of one way to call the kernel: every processor has its own, and some have an older one besides.
struct CallTable {
    arch: u32,
    /// Calls from this number on are those of another way under the same name (`x32`).
    others_from: Option<u32>,
    clone: u32,
    unshare: u32,
    keyrings: [u32; 3],
    /// The call, and which of its arguments is the mode.
    modes: &'static [(u32, u32)],
    /// The call, and which of its arguments are the flags and the mode.
    opens: &'static [(u32, u32, u32)],
}

/// `clone3` and `openat2`, whose arguments cannot be seen, and `io_uring`: the same numbers everywhere. Programs know
/// kernels that do not have them.
const UNKNOWN: [u32; 5] = [435, 437, 425, 426, 427];

#[cfg(target_arch = "x86_64")]
const TABLES: &[CallTable] = &[
    CallTable {
        arch: 0xC000_003E,
        others_from: Some(0x4000_0000),
        clone: 56,
        unshare: 272,
        keyrings: [248, 249, 250],
        modes: &[(90, 1), (91, 1), (268, 2), (452, 2), (85, 1), (133, 1), (259, 2)],
        opens: &[(2, 1, 2), (257, 2, 3)],
    },
    CallTable {
        arch: 0x4000_0003,
        others_from: None,
        clone: 120,
        unshare: 310,
        keyrings: [286, 287, 288],
        modes: &[(15, 1), (94, 1), (306, 2), (452, 2), (8, 1), (14, 1), (297, 2)],
        opens: &[(5, 1, 2), (295, 2, 3)],
    },
];

#[cfg(target_arch = "aarch64")]
const TABLES: &[CallTable] = &[
    CallTable {
        arch: 0xC000_00B7,
        others_from: None,
        clone: 220,
        unshare: 97,
        keyrings: [217, 218, 219],
        modes: &[(52, 1), (53, 2), (452, 2), (33, 2)],
        opens: &[(56, 2, 3)],
    },
    CallTable {
        arch: 0x4000_0028,
        others_from: None,
        clone: 120,
        unshare: 337,
        keyrings: [309, 310, 311],
        modes: &[(15, 1), (94, 1), (333, 2), (452, 2), (8, 1), (14, 1), (324, 2)],
        opens: &[(5, 1, 2), (322, 2, 3)],
    },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TABLES: &[CallTable] = &[];

const NEW_USER_NAMESPACE: u32 = 0x1000_0000;
const SET_USER_ID: u32 = 0o4000;
/// `O_CREAT` and `O_TMPFILE`: without them the mode is whatever was in the register.
const CREATES: u32 = 0x40 | 0x40_0000;

const LOAD: u16 = 0x20;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const IF_ANY_BIT: u16 = 0x45;
const ANSWER: u16 = 0x06;

const ALLOW: u32 = 0x7FFF_0000;
const NOT_PERMITTED: u32 = 0x0005_0000 | 1;
const NOT_IMPLEMENTED: u32 = 0x0005_0000 | 38;

/// Where the kernel puts the number of a call and the way it came.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

/// The lower half of an argument, which all of these fit in.
fn argument(at: u32) -> u32 {
    16 + 8 * at
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    /// How many of the next ones are left out, if it is so and if it is not.
    if_true: u8,
    if_false: u8,
    value: u32,
}

fn step(code: u16, value: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, value }
}

/// Goes on if it is so, else leaves out so many.
fn unless(code: u16, value: u32, left_out: usize) -> Instruction {
    let if_false = u8::try_from(left_out).unwrap_or(u8::MAX);
    Instruction { if_false, ..step(code, value) }
}

impl CallTable {
    fn rules(&self) -> Vec<Instruction> {
        let mut rules = vec![step(LOAD, NUMBER)];
        if let Some(first) = self.others_from {
            rules.extend([unless(IF_AT_LEAST, first, 1), step(ANSWER, NOT_IMPLEMENTED)]);
        }
        let refused = self.keyrings.map(|call| (call, NOT_PERMITTED));
        for (call, answer) in UNKNOWN.map(|call| (call, NOT_IMPLEMENTED)).into_iter().chain(refused) {
            rules.extend([unless(IF_EQUAL, call, 1), step(ANSWER, answer)]);
        }
        // Flags come first in both.
        let namespaces = [(self.clone, 0, NEW_USER_NAMESPACE), (self.unshare, 0, NEW_USER_NAMESPACE)];
        let modes = self.modes.iter().map(|(call, at)| (*call, *at, SET_USER_ID));
        for (call, at, bits) in namespaces.into_iter().chain(modes) {
            rules.extend([
                unless(IF_EQUAL, call, 4),
                step(LOAD, argument(at)),
                unless(IF_ANY_BIT, bits, 1),
                step(ANSWER, NOT_PERMITTED),
                step(ANSWER, ALLOW),
            ]);
        }
        for (call, flags, mode) in self.opens {
            rules.extend([
                unless(IF_EQUAL, *call, 6),
                step(LOAD, argument(*flags)),
                unless(IF_ANY_BIT, CREATES, 3),
                step(LOAD, argument(*mode)),
                unless(IF_ANY_BIT, SET_USER_ID, 1),
                step(ANSWER, NOT_PERMITTED),
                step(ANSWER, ALLOW),
            ]);
        }
        rules.push(step(ANSWER, ALLOW));
        rules
    }
}

fn program() -> Vec<Instruction> {
    let mut program = vec![step(LOAD, ARCH)];
    for table in TABLES {
        let rules = table.rules();
        program.push(unless(IF_EQUAL, table.arch, rules.len()));
        program.extend(rules);
    }
    program.push(step(ANSWER, NOT_IMPLEMENTED));
    program
}

/// The filter as bubblewrap reads it; `None` on processors whose calls are not listed.
pub(crate) fn filter() -> Option<Vec<u8>> {
    let bytes = |instruction: Instruction| {
        let [first, second] = instruction.code.to_ne_bytes();
        let value = instruction.value.to_ne_bytes();
        [[first, second, instruction.if_true, instruction.if_false], value].concat()
    };
    (!TABLES.is_empty()).then(|| program().into_iter().flat_map(bytes).collect())
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// What the kernel does with a call.
    fn answer(arch: u32, number: u32, arguments: &[u32]) -> u32 {
        let program = program();
        let (mut at, mut loaded) = (0, 0);
        loop {
            let instruction = program[at];
            at += 1;
            let is_so = match instruction.code {
                ANSWER => return instruction.value,
                LOAD => {
                    loaded = match instruction.value {
                        NUMBER => number,
                        ARCH => arch,
                        offset => arguments.get((offset as usize - 16) / 8).copied().unwrap_or_default(),
                    };
                    continue;
                }
                IF_EQUAL => loaded == instruction.value,
                IF_AT_LEAST => loaded >= instruction.value,
                IF_ANY_BIT => loaded & instruction.value != 0,
                code => panic!("{code}"),
            };
            at += usize::from(if is_so { instruction.if_true } else { instruction.if_false });
        }
    }

    #[test]
    fn calls_that_lead_out_are_refused_and_others_are_not() {
        const X86_64: u32 = 0xC000_003E;
        const I386: u32 = 0x4000_0003;
        const CREATE: u32 = 0x41;
        let table: &[(u32, u32, &[u32], u32)] = &[
            (X86_64, 0, &[], ALLOW),
            (X86_64, 59, &[], ALLOW),
            (X86_64, 56, &[0x11], ALLOW),
            (X86_64, 56, &[0x1000_0011], NOT_PERMITTED),
            (X86_64, 272, &[0x2_0000], ALLOW),
            (X86_64, 272, &[0x1002_0000], NOT_PERMITTED),
            (X86_64, 435, &[], NOT_IMPLEMENTED),
            (X86_64, 437, &[], NOT_IMPLEMENTED),
            (X86_64, 425, &[], NOT_IMPLEMENTED),
            (X86_64, 250, &[], NOT_PERMITTED),
            (X86_64, 90, &[0, 0o755], ALLOW),
            (X86_64, 90, &[0, 0o2755], ALLOW),
            (X86_64, 90, &[0, 0o4755], NOT_PERMITTED),
            (X86_64, 268, &[0, 0, 0o4755], NOT_PERMITTED),
            (X86_64, 257, &[0, 0, CREATE, 0o644], ALLOW),
            (X86_64, 257, &[0, 0, CREATE, 0o4755], NOT_PERMITTED),
            // Whatever was in the register.
            (X86_64, 257, &[0, 0, 0, 0o4755], ALLOW),
            (X86_64, 2, &[0, CREATE, 0o4755], NOT_PERMITTED),
            (X86_64, 0x4000_0000 + 56, &[0x1000_0011], NOT_IMPLEMENTED),
            (I386, 120, &[0x1000_0011], NOT_PERMITTED),
            (I386, 310, &[0x1000_0000], NOT_PERMITTED),
            (I386, 288, &[], NOT_PERMITTED),
            (I386, 56, &[0x1000_0011], ALLOW),
            (0xC000_00B7, 97, &[0], NOT_IMPLEMENTED),
        ];
        for (arch, number, arguments, expected) in table {
            assert_eq!(answer(*arch, *number, arguments), *expected, "{arch:x} {number} {arguments:?}");
        }
        assert_eq!(filter().unwrap().len(), program().len() * 8);
    }
}
