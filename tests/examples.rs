//! The programs of `docs/examples`, each run: they assert what they print.

#![cfg(all(feature = "io", feature = "sprs"))]

macro_rules! examples {
    ($($path:literal $name:ident;)*) => {$(
        #[path = $path]
        mod $name;
    )*

        $(
            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )*

        #[test]
        fn all_examples_are_run() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/examples");
            let files = std::fs::read_dir(folder).unwrap();
            let mut names: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            assert_eq!(names, [$(concat!(stringify!($name), ".rs")),*]);
        }
    };
}

examples! {
    "../docs/examples/attention.rs" attention;
    "../docs/examples/factors.rs" factors;
    "../docs/examples/graph.rs" graph;
    "../docs/examples/logistic.rs" logistic;
    "../docs/examples/paths.rs" paths;
    "../docs/examples/pieces.rs" pieces;
    "../docs/examples/quartet.rs" quartet;
    "../docs/examples/ratings.rs" ratings;
    "../docs/examples/sensors.rs" sensors;
    "../docs/examples/tfidf.rs" tfidf;
}
