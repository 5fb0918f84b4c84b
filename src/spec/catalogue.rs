//! What methods and datasets a spec may name. Handed in, so that specs depend on neither.

use serde_json::Value;

/// The methods and datasets that exist.
#[derive(Debug)]
pub struct Catalogue {
    pub methods: Vec<MethodEntry>,
    pub datasets: Vec<DatasetEntry>,
    /// Numbers of the paper's tables that can stand beside ours.
    pub tables: Vec<u32>,
}

/// A method and its parameters.
pub struct MethodEntry {
    /// Name in specs, such as `twsvm`.
    pub name: &'static str,
    /// Name in tables, such as `TWSVM`.
    pub title: &'static str,
    /// One line: losses and source.
    pub about: &'static str,
    /// JSON schema of the parameters: an object, as `schemars` derives it from a struct.
    pub schema: Value,
    pub check: Check,
}

/// Checks one concrete parameter set beyond its schema and gives it with all defaults filled in. An
/// error names the parameter and goes on with a fragment such as `is -1, expected a number above 0`.
pub type Check = Box<dyn Fn(&Value) -> Result<Value, (String, String)> + Send + Sync>;

/// A dataset of the registry.
#[derive(Clone, Debug)]
pub struct DatasetEntry {
    /// Name in specs, such as `usps`.
    pub name: String,
    /// One line: what it is.
    pub title: String,
}

impl Catalogue {
    /// The method called `name`.
    pub fn method(&self, name: &str) -> Option<&MethodEntry> {
        self.methods.iter().find(|method| method.name == name)
    }
}

impl std::fmt::Debug for MethodEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MethodEntry")
            .field("name", &self.name)
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}
