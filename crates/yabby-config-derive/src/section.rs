//! Structs: sections with fields.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Fields, Ident, ItemStruct, Result, Token};

use crate::field::Field;

/// What is said of a whole section.
#[derive(Default)]
pub struct Options {
    /// Keys that it does not know may stand in it.
    open: bool,
    /// It is made of parts that the check walks one by one.
    parts: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for word in Punctuated::<Ident, Token![,]>::parse_terminated(input)? {
            match word.to_string().as_str() {
                "open" => options.open = true,
                "parts" => options.parts = true,
                _ => return Err(syn::Error::new_spanned(word, "a section is `open` or of `parts`")),
            }
        }
        Ok(options)
    }
}

pub fn expand(options: &Options, mut item: ItemStruct) -> Result<TokenStream> {
    if let Fields::Unnamed(fields) = &item.fields {
        return Ok(wrapper(&item, &fields.unnamed.iter().map(|field| &field.ty).collect::<Vec<_>>()));
    }
    let fields = item.fields.iter_mut().map(Field::take).collect::<Result<Vec<_>>>()?;
    let name = &item.ident;
    let read = fields.iter().map(Field::read);
    let described = fields.iter().filter_map(Field::described);
    let shared = fields.iter().filter_map(Field::shared);
    let getters = fields.iter().filter_map(Field::getter);
    let parts = options.parts.then(|| {
        let parts = fields.iter().filter_map(Field::part);
        quote! { pub const PARTS: crate::schema::Parts = &[#(#parts),*]; }
    });
    let strict = (!options.open).then(|| quote! { , deny_unknown_fields });
    let default = (!fields.iter().any(Field::is_required)).then(|| quote! { Default, });
    Ok(quote! {
        #[derive(Clone, Debug, PartialEq, #default schemars::JsonSchema)]
        #[serde(rename_all = "camelCase" #strict)]
        #item

        impl #name {
            #parts
            #(#getters)*
        }

        impl crate::read::Read for #name {
            fn read(value: &serde_json::Value, reading: &mut crate::read::Reading) -> Option<Self> {
                let object = reading.object(value)?;
                Some(Self { #(#read),* })
            }

            fn shape() -> crate::read::Shape {
                crate::read::Shape::Fields {
                    own: &[#(#described),*],
                    shared: &[#(#shared),*],
                }
            }
        }
    })
}

/// A type around another one, which it reads as.
fn wrapper(item: &ItemStruct, types: &[&syn::Type]) -> TokenStream {
    let (name, inner) = (&item.ident, types.first());
    quote! {
        #[derive(Clone, Debug, Default, PartialEq, schemars::JsonSchema)]
        #item

        impl crate::read::Read for #name {
            fn read(value: &serde_json::Value, reading: &mut crate::read::Reading) -> Option<Self> {
                <#inner as crate::read::Read>::read(value, reading).map(Self)
            }
        }
    }
}
