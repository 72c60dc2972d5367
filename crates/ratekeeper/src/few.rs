//! A list that is mostly of one.
//!
//! Most requests meet one rule. Invariant: a list of at most one element is without an allocation.

use std::iter::Chain;
use std::ops::Deref;
use std::{mem, option, slice, vec};

/// A list that is mostly of one.
#[derive(Clone, Debug)]
pub(crate) enum Few<T> {
    One(T),
    /// None, or at least two.
    Several(Vec<T>),
}

impl<T> Few<T> {
    pub(crate) fn push(&mut self, element: T) {
        *self = match mem::take(self) {
            Few::One(first) => Few::Several(vec![first, element]),
            Few::Several(list) if list.is_empty() => Few::One(element),
            Few::Several(mut list) => {
                list.push(element);
                Few::Several(list)
            }
        };
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        match self {
            Few::One(only) => vec![only],
            Few::Several(list) => list,
        }
    }
}

impl<T: Copy + Ord> Few<T> {
    /// Puts the elements in order, and leaves one of those that have the same key.
    pub(crate) fn sort_once<K: PartialEq>(&mut self, key: impl Fn(&T) -> K) {
        if let Few::Several(list) = self {
            list.sort_unstable();
            list.dedup_by_key(|element| key(element));
            if let [only] = list[..] {
                *self = Few::One(only);
            }
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Few<T> {
        Few::Several(Vec::new())
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Few::One(only) => slice::from_ref(only),
            Few::Several(list) => list,
        }
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(mut list: Vec<T>) -> Few<T> {
        match list.pop() {
            Some(only) if list.is_empty() => Few::One(only),
            last => {
                list.extend(last);
                Few::Several(list)
            }
        }
    }
}

impl<T> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element));
    }
}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Few<T> {
        let mut few = Few::default();
        few.extend(elements);
        few
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<option::IntoIter<T>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, several) = match self {
            Few::One(only) => (Some(only), Vec::new()),
            Few::Several(list) => (None, list),
        };
        one.into_iter().chain(several)
    }
}

#[cfg(test)]
mod tests {
    use super::Few;
    use proptest::prelude::*;

    proptest! {
        /// Goal: it holds what a vector holds, however it is filled, and one element without a vector.
        /// Method: the same elements pushed, collected and converted, beside a vector.
        #[test]
        fn it_is_a_vector(elements: Vec<u8>) {
            let mut pushed = Few::default();
            elements.iter().for_each(|element| pushed.push(*element));
            let collected: Few<u8> = elements.iter().copied().collect();
            for few in [pushed, collected, Few::from(elements.clone())] {
                prop_assert_eq!(&few[..], &elements[..]);
                prop_assert_eq!(matches!(few, Few::One(_)), elements.len() == 1);
                prop_assert_eq!(few.clone().into_iter().collect::<Vec<_>>(), elements.clone());
                prop_assert_eq!(few.into_vec(), elements.clone());
            }
        }

        /// Goal: putting in order leaves the least of each key.
        /// Method: keys of four bits, beside an ordered map.
        #[test]
        fn one_of_each_key_stays(elements: Vec<u8>) {
            let mut few: Few<u8> = elements.iter().copied().collect();
            few.sort_once(|element| element >> 4);
            let mut least = std::collections::BTreeMap::new();
            for element in elements {
                let own = least.entry(element >> 4).or_insert(element);
                *own = element.min(*own);
            }
            prop_assert_eq!(&few[..], least.into_values().collect::<Vec<_>>());
        }
    }
}
