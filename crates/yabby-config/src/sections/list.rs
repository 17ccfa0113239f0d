//! Objects whose members are sections: the type, and a list to look a section up in.

/// Defines such a type. A section marked `always` is there even where nobody wrote it; one followed
/// by `{open}` or `{closed}` is such an object itself, with or without room for other keys.
macro_rules! sections {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[$field_attribute:meta])*
                $($always:ident)? $key:literal => $field:ident: $section:ty $({$room:ident})?,
            )+
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
                    content: sections!(@content $section $(, $room)?),
                    always: sections!(@is $($always)?),
                },
            )+];
        }
    };
    (@content $section:ty) => { $crate::schema::Content::Value($crate::schema::of::<$section>) };
    (@content $section:ty, open) => {
        $crate::schema::Content::Sections(<$section>::SECTIONS, $crate::schema::Room::Open)
    };
    (@content $section:ty, closed) => {
        $crate::schema::Content::Sections(<$section>::SECTIONS, $crate::schema::Room::Closed)
    };
    (@is always) => { true };
    (@is) => { false };
}
