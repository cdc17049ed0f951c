//! The messages and services generated from `proto/`. Nothing outside this crate sees them.

macro_rules! generated {
    ($($name:ident = $package:literal, $what:literal;)*) => {$(
        #[doc = $what]
        #[allow(dead_code, unreachable_pub, missing_docs, clippy::all, reason = "generated code")]
        pub(crate) mod $name {
            tonic::include_proto!($package);
        }
    )*};
}

generated! {
    tfplugin = "tfplugin", "What both protocol generations share.";
    tfplugin5 = "tfplugin5", "Generation 5.";
    tfplugin6 = "tfplugin6", "Generation 6.";
    goplugin = "plugin", "The plugin frame's own services.";
}
