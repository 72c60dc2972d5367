//! What a rule can be given as its limits: one or several, as text, built or to be built.
//!
//! Invariant: what comes out makes sense, limit by limit.

use crate::limit::{Limit, LimitBuilder, LimitError};

/// What a rule can be given as its limits.
pub trait IntoLimits {
    /// The limits, if each makes sense.
    fn into_limits(self) -> Result<Vec<Limit>, LimitError>;
}

/// One limit, in each of its forms.
macro_rules! one_limit {
    ($($form:ty),*) => {$(
        impl IntoLimits for $form {
            fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
                [self].into_limits()
            }
        }
    )*};
}

one_limit!(&str, Limit, LimitBuilder);

impl<L, const N: usize> IntoLimits for [L; N]
where
    Limit: TryFrom<L>,
    LimitError: From<<Limit as TryFrom<L>>::Error>,
{
    fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
        self.into_iter().map(|limit| Ok(Limit::try_from(limit)?)).collect()
    }
}

impl<L> IntoLimits for Vec<L>
where
    Limit: TryFrom<L>,
    LimitError: From<<Limit as TryFrom<L>>::Error>,
{
    fn into_limits(self) -> Result<Vec<Limit>, LimitError> {
        self.into_iter().map(|limit| Ok(Limit::try_from(limit)?)).collect()
    }
}
