//! Objects whose members are sections: the type, and a list to look a section up in.

/// Defines such a type. A section marked `always` is there even where nobody wrote it.
macro_rules! sections {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$field_attribute:meta])* $($always:ident)? $key:literal => $field:ident: $section:ty,)+
            $(..$others:ident: $other:ty)?
        }
    ) => {
        #[derive(schemars::JsonSchema)]
        $(#[$attribute])*
        pub struct $name {
            $($(#[$field_attribute])* #[serde(rename = $key)] pub $field: Option<$section>,)+
            $(#[serde(flatten)] pub $others: $other,)?
        }

        impl $name {
            pub const SECTIONS: $crate::schema::Sections = &[$(
                $crate::schema::Section {
                    key: $key,
                    schema: $crate::schema::of::<$section>,
                    always: sections!(@is $($always)?),
                },
            )+];
        }
    };
    (@is always) => { true };
    (@is) => { false };
}
