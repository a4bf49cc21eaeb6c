//! The rules that a simulation can take away.

/// A rule of the design, by its number in `docs/durable-rules.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the numbers are those of the document")]
pub enum Safeguard {
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    R16,
    R17,
    R18,
    R19,
    R20,
    R21,
    R22,
}

/// The rules that hold: all of them, except in tests and simulations that take some away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Safeguards {
    #[cfg(any(test, feature = "simulation"))]
    missing: u32,
}

impl Safeguards {
    /// All but one.
    #[cfg(any(test, feature = "simulation"))]
    #[must_use]
    pub const fn without(missing: Safeguard) -> Self {
        Self { missing: 1 << missing as u32 }
    }

    /// Returns true if the rule holds.
    #[cfg(any(test, feature = "simulation"))]
    #[must_use]
    pub const fn hold(self, rule: Safeguard) -> bool {
        self.missing & (1 << rule as u32) == 0
    }

    /// Returns true if the rule holds: it does.
    #[cfg(not(any(test, feature = "simulation")))]
    #[must_use]
    pub const fn hold(self, _: Safeguard) -> bool {
        true
    }
}
