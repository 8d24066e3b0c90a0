//! Several changes that are made together, or not at all.

use serde::Serialize;

use super::{Entity, Error, Expected, host, wit, write};

/// Changes to be made together: up to 128, no document twice.
///
/// ```
/// use remit_sdk::entities::{Entity, Expected, entity, transaction};
///
/// const BALANCES: Entity<i64> = entity("balances");
///
/// # fn main() -> Result<(), remit_sdk::entities::Error> {
/// # remit_sdk::testing::entities(&["balances"]);
/// let versions = transaction()
///     .put(&BALANCES, "ada", &90, Expected::Absent)
///     .put(&BALANCES, "bob", &110, Expected::Absent)
///     .delete(&BALANCES, "eve", Expected::Any)
///     .commit()?;
/// assert_eq!(versions[2], 0, "there was nothing to remove");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "nothing is changed before `commit`"]
pub struct Transaction {
    changes: Vec<wit::Change>,
    /// What made it impossible, told by `commit`.
    problem: Option<Error>,
}

/// No changes yet.
pub fn transaction() -> Transaction {
    Transaction { changes: Vec::new(), problem: None }
}

impl Transaction {
    /// A document gets this value.
    pub fn put<T: Serialize>(mut self, entity: &Entity<T>, key: &str, value: &T, expected: Expected) -> Self {
        match write(value) {
            Ok(value) => self.change(entity.name, key, expected, wit::Action::Put(value)),
            Err(error) => {
                self.problem.get_or_insert(error);
                self
            }
        }
    }

    /// A document is removed, if it is there.
    pub fn delete<T>(self, entity: &Entity<T>, key: &str, expected: Expected) -> Self {
        self.change(entity.name, key, expected, wit::Action::Delete)
    }

    fn change(mut self, entity: &str, key: &str, expected: Expected, action: wit::Action) -> Self {
        self.changes.push(wit::Change { entity: entity.to_owned(), key: key.to_owned(), expected, action });
        self
    }

    /// Makes all of the changes or none, and gives the version of each in their order; 0 for what was removed.
    pub fn commit(self) -> Result<Vec<u64>, Error> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(host::transact(&self.changes)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entity;
    use super::*;
    use crate::testing;

    const COUNTS: Entity<u32> = entity("counts");

    #[test]
    fn all_or_nothing() {
        testing::entities(&["counts"]);
        let versions = transaction()
            .put(&COUNTS, "a", &1, Expected::Absent)
            .put(&COUNTS, "b", &2, Expected::Absent)
            .commit()
            .expect("both are new");
        let refused = transaction()
            .put(&COUNTS, "c", &3, Expected::Absent)
            .delete(&COUNTS, "a", Expected::Version(versions[1]))
            .commit();
        let conflict =
            Error::Conflict { entity: "counts".to_owned(), key: "a".to_owned(), actual: Some(versions[0]) };
        assert_eq!(refused, Err(conflict));
        assert_eq!(COUNTS.get("c"), Ok(None));
        assert_eq!(transaction().delete(&COUNTS, "a", Expected::Version(versions[0])).commit(), Ok(vec![0]));
        assert_eq!(transaction().commit(), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_written_stops_all() {
        testing::entities(&["counts", "odd"]);
        let odd: Entity<std::collections::HashMap<Vec<u8>, u8>> = entity("odd");
        let unwritable = std::collections::HashMap::from([(vec![1], 1)]);
        let refused =
            transaction().put(&odd, "a", &unwritable, Expected::Any).put(&COUNTS, "b", &2, Expected::Any).commit();
        assert!(matches!(refused, Err(Error::Json(_))));
        assert_eq!(COUNTS.get("b"), Ok(None));
    }
}
