//! Enums: choices between words or between forms.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Fields, ItemEnum, LitStr, Result, Variant};

use crate::field::kebab_case;

pub fn expand(item: ItemEnum) -> Result<TokenStream> {
    let forms = item.variants.iter().any(|variant| !matches!(variant.fields, Fields::Unit));
    if forms { Ok(of_forms(&item)) } else { of_words(&item) }
}

/// The first form that the value has.
fn of_forms(item: &ItemEnum) -> TokenStream {
    let name = &item.ident;
    let forms = item.variants.iter().map(|variant| &variant.ident);
    let types =
        item.variants.iter().filter_map(|variant| variant.fields.iter().next()).map(|field| &field.ty);
    quote! {
        #[derive(Clone, Debug, PartialEq, schemars::JsonSchema)]
        #item

        impl crate::read::Read for #name {
            fn read(value: &serde_json::Value, reading: &mut crate::read::Reading) -> Option<Self> {
                reading.first_of(value, &[
                    #(|value, reading| <_ as crate::read::Read>::read(value, reading).map(Self::#forms)),*
                ])
            }

            fn shape() -> crate::read::Shape {
                crate::read::Shape::Fields { own: &[], shared: &[#(<#types as crate::read::Read>::shape),*] }
            }
        }
    }
}

fn of_words(item: &ItemEnum) -> Result<TokenStream> {
    let name = &item.ident;
    let mut case = None;
    for attribute in &item.attrs {
        case = renamed(attribute, "rename_all")?.or(case);
    }
    let variants: Vec<_> = item.variants.iter().map(|variant| &variant.ident).collect();
    let words =
        item.variants.iter().map(|variant| word(variant, case.as_deref())).collect::<Result<Vec<_>>>()?;
    let expected = format!("one of {}", words.join(", "));
    let derives = quote! { #[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema)] };
    Ok(quote! {
        #derives
        #item

        impl #name {
            /// What a word means, if it is one of these.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { #(#words => Some(Self::#variants),)* _ => None }
            }

            /// The word that it is written as.
            pub fn word(self) -> &'static str {
                match self { #(Self::#variants => #words),* }
            }
        }

        impl crate::read::Read for #name {
            fn read(value: &serde_json::Value, reading: &mut crate::read::Reading) -> Option<Self> {
                let known = value.as_str().and_then(Self::from_word);
                known.or_else(|| reading.wrong(#expected))
            }
        }
    })
}

fn word(variant: &Variant, case: Option<&str>) -> Result<String> {
    for attribute in &variant.attrs {
        if let Some(word) = renamed(attribute, "rename")? {
            return Ok(word);
        }
    }
    let kebab = kebab_case(&variant.ident.to_string());
    Ok(match case {
        Some("kebab-case") => kebab,
        Some("snake_case") => kebab.replace('-', "_"),
        Some("lowercase") => kebab.replace('-', ""),
        Some("camelCase") => {
            let name = variant.ident.to_string();
            name[..1].to_lowercase() + &name[1..]
        }
        _ => variant.ident.to_string(),
    })
}

/// What `#[serde(<how> = "…")]` says.
fn renamed(attribute: &Attribute, how: &str) -> Result<Option<String>> {
    let mut said = None;
    if attribute.path().is_ident("serde") {
        attribute.parse_nested_meta(|meta| {
            if meta.input.peek(syn::Token![=]) {
                let value = meta.value()?.parse::<LitStr>()?.value();
                if meta.path.is_ident(how) {
                    said = Some(value);
                }
            }
            Ok(())
        })?;
    }
    Ok(said)
}
