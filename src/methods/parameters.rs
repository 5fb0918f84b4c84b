//! Parameters as a spec writes them, each written once.

/// [`npsvc::parameters!`] that can be read, written and described by a JSON schema. The ranges are part of
/// the schema.
macro_rules! spec_parameters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty = $default:expr $(, $range:expr)? ; )*
        }
    ) => {
        npsvc::parameters! {
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            #[serde(deny_unknown_fields, default)]
            pub struct $name {
                $(
                    $(#[$field_meta])*
                    $(#[schemars(transform = $range)])?
                    $field: $type = $default $(, $range)?;
                )*
            }
        }
    };
}
pub(crate) use spec_parameters;

/// Whether a parameter may be left out of the text of a cell.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
