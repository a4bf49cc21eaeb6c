//! The values that the builder manages, by their types.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A type whose values a scheduler can keep for its tasks.
///
/// All types are `Managed` that threads can share. There is nothing to implement.
///
/// ```
/// use scheduler::Managed;
///
/// #[derive(Default)]
/// struct Sessions(std::sync::Mutex<Vec<String>>);
///
/// fn is_managed<T: Managed>(_: &T) {}
/// is_managed(&Sessions::default());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be managed state: tasks on several threads would share it",
    label = "cannot be shared between threads",
    note = "managed state is `Send`, `Sync` and `'static`: in place of an `Rc` use an `Arc`, \
            of a `Cell` or `RefCell` a `Mutex` or an atomic",
    note = "a trait whose objects are managed needs these bounds: `trait Mail: Send + Sync`"
)]
pub trait Managed: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized + Send + Sync + 'static> Managed for T {}

/// The key of a managed value: its type, and its name where there are several of the type.
type Key = (TypeId, Option<String>);

/// All managed values of a scheduler.
#[derive(Clone, Default)]
pub(crate) struct States {
    values: BTreeMap<Key, ManagedValue>,
    /// Types with two values of the same name, or two without one.
    duplicates: Vec<String>,
}

#[derive(Clone)]
struct ManagedValue {
    type_name: &'static str,
    /// An `Arc<T>`.
    value: Arc<dyn Any + Send + Sync>,
    /// True for a value of the scheduler, which is not listed.
    is_own: bool,
}

impl States {
    /// Keeps a value.
    pub(crate) fn insert<T: ?Sized + Managed>(&mut self, name: Option<&str>, value: Arc<T>) {
        self.keep(name, value, false);
    }

    /// Keeps a value of the scheduler, which is not listed.
    pub(crate) fn insert_own<T: Managed>(&mut self, value: T) {
        self.keep(None, Arc::new(value), true);
    }

    fn keep<T: ?Sized + Managed>(&mut self, name: Option<&str>, value: Arc<T>, is_own: bool) {
        let key = (TypeId::of::<T>(), name.map(str::to_owned));
        let managed = ManagedValue { type_name: type_name::<T>(), value: Arc::new(value), is_own };
        if self.values.insert(key, managed).is_some() {
            self.duplicates.push(described(type_name::<T>(), name));
        }
    }

    /// The value of a type and name.
    pub(crate) fn find<T: ?Sized + Managed>(&self, name: Option<&str>) -> Option<Arc<T>> {
        let managed = self.values.get(&(TypeId::of::<T>(), name.map(str::to_owned)))?;
        managed.value.downcast_ref::<Arc<T>>().cloned()
    }

    /// The names of all values of a type. `None` for the one without a name, which comes first.
    pub(crate) fn names_of(&self, type_id: TypeId) -> Vec<Option<&str>> {
        let keys = self.values.keys().filter(|(known, _)| *known == type_id);
        keys.map(|(_, name)| name.as_deref()).collect()
    }

    /// All values, for who drops them.
    pub(crate) fn into_values(self) -> impl Iterator<Item = impl Send> {
        self.values.into_values().map(|managed| managed.value)
    }

    /// The values that were given twice.
    pub(crate) fn duplicates(&self) -> &[String] {
        &self.duplicates
    }

    /// The descriptions of all managed values, sorted.
    pub(crate) fn described(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .values
            .iter()
            .filter(|(_, managed)| !managed.is_own)
            .map(|((_, name), managed)| described(managed.type_name, name.as_deref()))
            .collect();
        all.sort();
        all
    }

    /// The managed values, to be written below the missing ones.
    pub(crate) fn managed_note(&self) -> String {
        let managed = self.described();
        let list = if managed.is_empty() { "nothing".to_owned() } else { managed.join(", ") };
        format!("\nnote: managed so far: {list}")
    }

    /// A managed value that was probably meant.
    pub(crate) fn near_miss(&self, wanted: &str) -> Option<NearMiss> {
        let mut names: Vec<&'static str> =
            self.values.values().map(|value| value.type_name).collect();
        names.sort_unstable();
        names.into_iter().find_map(|found| NearMiss::between(wanted, found))
    }
}

fn described(type_name: &str, name: Option<&str>) -> String {
    match name {
        None => shown(type_name),
        Some(name) => format!("{} named `{}`", shown(type_name), name.escape_debug()),
    }
}

/// The name of a type as a program writes it: without the paths of the standard library's pointers and of modules of ours
/// that are private.
pub(crate) fn shown(type_name: &str) -> String {
    let mut text = type_name.to_owned();
    for (path, short) in POINTERS {
        text = text.replace(path, short);
    }
    OURS.iter().fold(text, |text, (root, public)| in_public(&text, root, public))
}

/// The crates whose types a program names through the facade, and where they are there.
const OURS: [(&str, &str); 5] = [
    ("scheduler::", "scheduler::"),
    ("scheduler_core::", "scheduler::engine::"),
    ("scheduler_store::", "scheduler::store::"),
    ("scheduler_sqlite::", "scheduler::store::"),
    ("scheduler_postgres::", "scheduler::store::"),
];

/// Leaves out the modules between the root of a crate and its types.
fn in_public(text: &str, root: &str, public: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(root) {
        let (before, path) = rest.split_at(at);
        out.push_str(before);
        rest = &path[root.len()..];
        let is_end_of_name = before.ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
        if is_end_of_name || rest.starts_with("testing::") {
            out.push_str(root);
            continue;
        }
        out.push_str(public);
        while let Some((module, inner)) = rest.split_once("::")
            && module.starts_with(|c: char| c.is_ascii_lowercase())
            && module.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            rest = inner;
        }
    }
    out + rest
}

const POINTERS: [(&str, &str); 4] = [
    ("alloc::sync::Arc<", "Arc<"),
    ("alloc::rc::Rc<", "Rc<"),
    ("alloc::boxed::Box<", "Box<"),
    ("core::option::Option<", "Option<"),
];

/// A managed value of a similar type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NearMiss {
    /// It is there if there is a store.
    Store,
    /// All values of the type have names.
    Named(String),
    /// `Arc<T>`, `Box<T>` or another wrapper of the standard library was given for `T`.
    Wrapped(String),
    /// `T` was given, and `Arc<T>` or the like is wanted.
    Bare(String),
    /// The type is a parameter by value.
    ByValue(String),
    /// A type of the same name from another path, such as another version of a crate.
    Namesake(String),
}

impl NearMiss {
    fn between(wanted: &str, found: &'static str) -> Option<Self> {
        if is_wrapper(found, wanted) {
            return Some(Self::Wrapped(shown(found)));
        }
        if is_wrapper(wanted, found) {
            return Some(Self::Bare(shown(found)));
        }
        (last_segment(wanted) == last_segment(found)).then(|| Self::Namesake(shown(found)))
    }
}

/// Returns true if `outer` is a pointer to, or an option of, `inner`.
fn is_wrapper(outer: &str, inner: &str) -> bool {
    if outer.strip_prefix('&').is_some_and(|rest| rest == inner) {
        return true;
    }
    let pointed = POINTERS.iter().find_map(|(path, _)| outer.strip_prefix(path));
    pointed.and_then(|rest| rest.strip_suffix('>')) == Some(inner)
}

fn last_segment(type_name: &str) -> &str {
    let path = type_name.split('<').next().unwrap_or_default();
    path.rsplit("::").next().unwrap_or_default()
}

impl fmt::Debug for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.described()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    trait Mail: Send + Sync {
        fn address(&self) -> &str;
    }

    impl Mail for String {
        fn address(&self) -> &str {
            self
        }
    }

    #[test]
    fn a_value_is_found_by_its_type_and_name_only() {
        let mut states = States::default();
        states.insert(None, Arc::new(7_u8));
        states.insert(Some("eu"), Arc::new(8_u8));
        states.insert::<dyn Mail>(None, Arc::new(String::from("a@b")));
        assert_eq!(states.find::<u8>(None).as_deref(), Some(&7));
        assert_eq!(states.find::<u8>(Some("eu")).as_deref(), Some(&8));
        assert_eq!(states.find::<u8>(Some("us")), None);
        assert_eq!(states.find::<String>(None), None);
        assert_eq!(states.find::<dyn Mail>(None).expect("it is there").address(), "a@b");
        assert_eq!(states.names_of(TypeId::of::<u8>()), [None, Some("eu")]);
        assert!(states.duplicates().is_empty());
    }

    #[test]
    fn a_second_value_of_a_type_is_remembered_as_a_fault() {
        let mut states = States::default();
        states.insert(None, Arc::new(7_u8));
        states.insert(Some("eu"), Arc::new(7_u8));
        states.insert(Some("eu"), Arc::new(7_u8));
        states.insert(None, Arc::new(7_u8));
        assert_eq!(states.duplicates(), ["u8 named `eu`", "u8"]);
    }

    #[test]
    fn a_type_is_shown_by_the_path_that_a_program_writes() {
        use crate::run::{Run, Shutdown};
        let check = |name: &str, expected: &str| assert_eq!(shown(name), expected);
        check(type_name::<Run>(), "scheduler::Run");
        check(type_name::<Option<Arc<Shutdown>>>(), "Option<Arc<scheduler::Shutdown>>");
        check(type_name::<(Run, u8)>(), "(scheduler::Run, u8)");
        check(type_name::<scheduler_core::ManualClock>(), "scheduler::engine::ManualClock");
        check(type_name::<dyn scheduler_core::Clock>(), "dyn scheduler::engine::Clock");
        check("scheduler_store::model::Model", "scheduler::store::Model");
        check("scheduler::testing::sim::Sim", "scheduler::testing::sim::Sim");
        check("my_scheduler::jobs::Mailer", "my_scheduler::jobs::Mailer");
        check("shop::scheduler::jobs::Mailer", "shop::scheduler::jobs::Mailer");
        check(type_name::<String>(), "alloc::string::String");
    }

    #[test]
    fn a_similar_value_is_found() {
        struct Pool;
        let wanted = type_name::<Pool>();
        let mut states = States::default();
        assert_eq!(states.near_miss(wanted), None);
        states.insert(None, Arc::new(Arc::new(Pool)));
        let path = shown(wanted);
        assert_eq!(states.near_miss(wanted), Some(NearMiss::Wrapped(format!("Arc<{path}>"))));
        let mut states = States::default();
        states.insert(None, Arc::new(Pool));
        assert_eq!(states.near_miss(type_name::<Arc<Pool>>()), Some(NearMiss::Bare(path.clone())));
        assert_eq!(states.near_miss("other::v2::Pool"), Some(NearMiss::Namesake(path)));
        assert_eq!(states.near_miss("other::Pond"), None);
    }
}
