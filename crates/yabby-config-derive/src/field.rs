//! The fields of a section.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Expr, ExprLit, GenericArgument, Ident, Lit, LitInt, LitStr, Meta, MetaNameValue,
    PathArguments, Result, Token, Type, parse_quote,
};

pub struct Field {
    ident: Ident,
    ty: Type,
    key: String,
    default: Option<Default>,
    reload: Option<Ident>,
    always: bool,
    filled: bool,
    group: Option<(LitStr, LitInt)>,
    room: Option<Ident>,
    place: Place,
    /// The type that the schema is of, if it is another one.
    described_as: Option<Type>,
}

/// Where a field is read from.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Its key, which may be missing.
    Optional,
    /// Its key, as a section that is there even where nobody wrote it.
    Section,
    /// Its key, without which the section is none.
    Required,
    /// Its key, which must be there, but counts as empty where it is not.
    OrDefault,
    /// The keys of the section itself.
    Shared,
    /// Keys that no other field has.
    Others,
    /// All keys once more, read as another type.
    Whole,
}

enum Default {
    Literal(Lit),
    Variant(Ident),
}

impl Field {
    /// Takes out of a field what is ours, and leaves the rest to the schema.
    pub fn take(field: &mut syn::Field) -> Result<Self> {
        let Some(ident) = field.ident.clone() else {
            return Err(syn::Error::new_spanned(field, "a field has a name"));
        };
        let mut taken = Self {
            key: camel_case(ident.to_string().trim_start_matches("r#")),
            ty: field.ty.clone(),
            default: None,
            reload: None,
            always: false,
            filled: false,
            group: None,
            room: None,
            described_as: None,
            place: if inner(&field.ty, "Option").is_some() { Place::Optional } else { Place::Required },
            ident,
        };
        for attribute in &field.attrs {
            if attribute.path().is_ident("serde") {
                taken.obey_serde(attribute, &field.ty)?;
            } else if attribute.path().is_ident("schemars") {
                taken.obey_schemars(attribute)?;
            } else if attribute.path().is_ident("config") {
                taken.obey(attribute)?;
            }
        }
        field.attrs.retain(|attribute| !attribute.path().is_ident("config"));
        if taken.place == Place::Whole {
            field.attrs.push(parse_quote!(#[schemars(skip)]));
        }
        if let Some(default) = &taken.default {
            tell(&mut field.attrs, &format!("Default: {}.", default.shown()));
            if taken.filled {
                let value = default.in_schema();
                field.attrs.push(parse_quote!(#[schemars(extend("default" = #value))]));
            }
        }
        Ok(taken)
    }

    fn obey_serde(&mut self, attribute: &Attribute, ty: &Type) -> Result<()> {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                self.key = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("default") {
                self.place = Place::Section;
            } else if meta.path.is_ident("flatten") {
                self.place = if inner(ty, "Map").is_some() { Place::Others } else { Place::Shared };
            }
            Ok(())
        })
    }

    fn obey_schemars(&mut self, attribute: &Attribute) -> Result<()> {
        let Meta::List(list) = &attribute.meta else { return Ok(()) };
        if let Ok(with) = list.parse_args::<MetaNameValue>()
            && with.path.is_ident("with")
            && let Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) = with.value
        {
            self.described_as = Some(name.parse()?);
        }
        Ok(())
    }

    fn obey(&mut self, attribute: &Attribute) -> Result<()> {
        attribute.parse_nested_meta(|meta| {
            let Some(word) = meta.path.get_ident().cloned() else { return Err(meta.error("a word")) };
            match word.to_string().as_str() {
                "default" => self.default = Some(Default::of(meta.value()?.parse()?)?),
                "live" | "channel" | "restart" => self.reload = Some(word),
                "always" => self.always = true,
                "filled" => self.filled = true,
                "group" => {
                    let value = meta.value()?;
                    let label = value.parse()?;
                    value.parse::<Token![@]>()?;
                    self.group = Some((label, value.parse()?));
                }
                "whole" => self.place = Place::Whole,
                "or_default" => self.place = Place::OrDefault,
                "open" | "closed" => self.room = Some(word),
                _ => return Err(meta.error("unknown to `config`")),
            }
            Ok(())
        })
    }

    /// Whether a section without it is none.
    pub fn is_required(&self) -> bool {
        self.place == Place::Required
    }

    /// The field as it is read.
    pub fn read(&self) -> TokenStream {
        let Self { ident, key, .. } = self;
        match self.place {
            Place::Optional => quote! { #ident: reading.optional(object, #key) },
            Place::Section => quote! { #ident: reading.optional(object, #key).unwrap_or_default() },
            Place::Required => quote! { #ident: reading.required(object, #key)? },
            Place::OrDefault => quote! { #ident: reading.required(object, #key).unwrap_or_default() },
            Place::Shared | Place::Whole => {
                quote! { #ident: crate::read::Read::read(value, reading).unwrap_or_default() }
            }
            Place::Others => quote! { #ident: reading.others(object, &Self::shape()) },
        }
    }

    /// The field for whoever walks over the sections.
    pub fn described(&self) -> Option<TokenStream> {
        if matches!(self.place, Place::Shared | Place::Others | Place::Whole) {
            return None;
        }
        let (key, value) = (&self.key, self.value());
        let reload =
            match self.reload.as_ref().map(|word| Ident::new(&capital(&word.to_string()), word.span())) {
                Some(class) => quote! { Some(crate::read::Reload::#class) },
                None => quote! { None },
            };
        Some(quote! {
            crate::read::Field { key: #key, reload: #reload, shape: <#value as crate::read::Read>::shape }
        })
    }

    /// The shape of the fields that stand among those of the section.
    pub fn shared(&self) -> Option<TokenStream> {
        let ty = &self.ty;
        matches!(self.place, Place::Shared | Place::Whole)
            .then(|| quote! { <#ty as crate::read::Read>::shape })
    }

    /// The field for the check.
    pub fn part(&self) -> Option<TokenStream> {
        if matches!(self.place, Place::Others | Place::Whole) {
            return None;
        }
        let (key, always) = (&self.key, self.always);
        let value = match &self.described_as {
            Some(ty) => inner(ty, "Option").unwrap_or(ty),
            None => self.value(),
        };
        let content = match &self.room {
            None => quote! { crate::schema::Content::Value(crate::schema::of::<#value>) },
            Some(room) => {
                let room = Ident::new(&capital(&room.to_string()), room.span());
                quote! { crate::schema::Content::Parts(<#value>::PARTS, crate::schema::Room::#room) }
            }
        };
        let group = match &self.group {
            Some((label, order)) => quote! { Some(crate::schema::Group { label: #label, order: #order }) },
            None => quote! { None },
        };
        Some(quote! { crate::schema::Part { key: #key, content: #content, always: #always, group: #group } })
    }

    /// What is written, or the default.
    pub fn getter(&self) -> Option<TokenStream> {
        let Self { ident, .. } = self;
        let value = self.value();
        let line = format!("What is written under `{}`, or the default.", self.key);
        let getter = match self.default.as_ref()? {
            Default::Variant(variant) => quote! {
                pub fn #ident(&self) -> #value { self.#ident.unwrap_or(<#value>::#variant) }
            },
            Default::Literal(Lit::Str(text)) => quote! {
                pub fn #ident(&self) -> &str { self.#ident.as_deref().unwrap_or(#text) }
            },
            Default::Literal(Lit::Bool(flag)) => quote! {
                pub fn #ident(&self) -> bool { self.#ident.unwrap_or(#flag) }
            },
            Default::Literal(number) => {
                let number: f64 = match number {
                    Lit::Int(number) => number.base10_parse().ok()?,
                    Lit::Float(number) => number.base10_parse().ok()?,
                    _ => return None,
                };
                quote! { pub fn #ident(&self) -> f64 { self.#ident.map_or(#number, f64::from) } }
            }
        };
        Some(quote! { #[doc = #line] #getter })
    }

    /// The type of the value, without the `Option` around it.
    fn value(&self) -> &Type {
        inner(&self.ty, "Option").unwrap_or(&self.ty)
    }
}

impl Default {
    fn of(expression: Expr) -> Result<Self> {
        match expression {
            Expr::Lit(ExprLit { lit, .. }) => Ok(Self::Literal(lit)),
            Expr::Path(path) => Ok(Self::Variant(path.path.require_ident()?.clone())),
            other => Err(syn::Error::new_spanned(other, "a default is a literal or a variant")),
        }
    }

    fn in_schema(&self) -> Lit {
        match self {
            Self::Literal(literal) => literal.clone(),
            Self::Variant(variant) => {
                Lit::Str(LitStr::new(&kebab_case(&variant.to_string()), variant.span()))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Variant(variant) => kebab_case(&variant.to_string()),
            Self::Literal(Lit::Str(text)) => text.value(),
            Self::Literal(Lit::Bool(flag)) => flag.value.to_string(),
            Self::Literal(Lit::Int(number)) => number.base10_digits().to_owned(),
            Self::Literal(Lit::Float(number)) => number.base10_digits().to_owned(),
            Self::Literal(_) => String::new(),
        }
    }
}

/// Adds a sentence to a doc comment.
fn tell(attributes: &mut Vec<Attribute>, sentence: &str) {
    let last = attributes.iter_mut().rev().find_map(|attribute| match &mut attribute.meta {
        Meta::NameValue(MetaNameValue {
            path,
            value: Expr::Lit(ExprLit { lit: Lit::Str(line), .. }),
            ..
        }) if path.is_ident("doc") => Some(line),
        _ => None,
    });
    match last {
        Some(line) => *line = LitStr::new(&format!("{} {sentence}", line.value()), line.span()),
        None => attributes.push(parse_quote!(#[doc = #sentence])),
    }
}

/// What `Option` or the like is around.
fn inner<'t>(ty: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    words.next().unwrap_or_default().to_owned() + &words.map(capital).collect::<String>()
}

pub fn kebab_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
