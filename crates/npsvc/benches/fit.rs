//! Time of a fit of every method on noisy digits, kernel matrix excluded.
//!
//! `cargo bench -p npsvc --profile dev --bench fit` for all, with `-- twsvm` behind it for one. The
//! dev profile is optimised, so nothing has to be built again.

#[allow(dead_code, reason = "shared with benchmarks that use more of it")]
mod support;

use npsvc::{FitOptions, KNpsvcpp, Method, Npsvm, Pintwsvm, Rmtbsvm, Scheme, Seed, Svm, Twsvm};

fn main() {
    divan::main();
}

fn fit(bencher: divan::Bencher<'_, '_>, method: &dyn Method, n: usize) {
    let set = support::noisy_digits(n);
    bencher.bench_local(|| method.fit(&set, FitOptions::seeded(Seed::root(2024))));
}

macro_rules! methods {
    ($($function:ident: $method:expr,)*) => {$(
        #[divan::bench(args = [500, 1000, 2000], sample_count = 3, sample_size = 1)]
        fn $function(bencher: divan::Bencher<'_, '_>, n: usize) {
            fit(bencher, &$method, n);
        }
    )*};
}

methods! {
    svm: Svm::default(),
    twsvm_ovr: Twsvm { scheme: Scheme::Ovr, ..Twsvm::default() },
    twsvm_rvo: Twsvm { scheme: Scheme::Rvo, ..Twsvm::default() },
    npsvm_ovr: Npsvm { scheme: Scheme::Ovr, ..Npsvm::default() },
    pintwsvm_ovr: Pintwsvm { scheme: Scheme::Ovr, ..Pintwsvm::default() },
    rmtbsvm_ovr: Rmtbsvm { scheme: Scheme::Ovr, ..Rmtbsvm::default() },
    k_npsvcpp_ovr: KNpsvcpp { scheme: Scheme::Ovr, ..KNpsvcpp::default() },
    k_npsvcpp_rvo: KNpsvcpp { scheme: Scheme::Rvo, ..KNpsvcpp::default() },
}
