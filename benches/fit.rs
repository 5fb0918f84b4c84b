//! Time of a fit of every method on parts of Pendigits, kernel matrix excluded.
//!
//! `cargo bench --profile dev --bench fit` for all, with `-- twsvm` behind it for one. The dev profile
//! is optimised, so nothing has to be built anew.

mod support;

use npsvcpp::model::registry;
use npsvcpp::seed::Seed;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

fn fit(bencher: divan::Bencher<'_, '_>, name: &str, params: Value, n: usize) {
    let problem = support::pendigits(n);
    let method = registry::find(name)
        .expect("a method of the registry")
        .configure(&params)
        .expect("valid parameters");
    let seed = Seed::root(2024);
    bencher.bench_local(|| method.fit(&problem, &seed));
}

macro_rules! methods {
    ($($function:ident: $name:literal $params:tt,)*) => {$(
        #[divan::bench(args = [500, 1000, 2000], sample_count = 3, sample_size = 1)]
        fn $function(bencher: divan::Bencher<'_, '_>, n: usize) {
            fit(bencher, $name, json!($params), n);
        }
    )*};
}

methods! {
    svm: "svm" {},
    twsvm_ovr: "twsvm" {"scheme": "ovr"},
    twsvm_rvo: "twsvm" {"scheme": "rvo"},
    npsvm_ovr: "npsvm" {"scheme": "ovr"},
    pintwsvm_ovr: "pintwsvm" {"scheme": "ovr"},
    rmtbsvm_ovr: "rmtbsvm" {"scheme": "ovr"},
    k_npsvcpp_ovr: "k-npsvcpp" {"scheme": "ovr"},
    k_npsvcpp_rvo: "k-npsvcpp" {"scheme": "rvo"},
}
