use faer::Par;
use ndarray::Axis;
use npsvcpp::data::{Store, splits, subsample};
use npsvcpp::kernel::Kernel;
use npsvcpp::model::Problem;
use npsvcpp::model::registry;
use npsvcpp::seed::Seed;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let store = Store::new(None, true);
    let mut d = store.load(&args[1]).unwrap();
    let seed = Seed::root(2024);
    let size: usize = args[2].parse().unwrap();
    if size > 0 {
        d = subsample(&d, size, &seed).unwrap();
    }
    let s = &splits(&d, &Default::default(), &seed).unwrap()[0];
    let threads: usize = args[3].parse().unwrap();
    let par = if threads > 1 {
        Par::rayon(threads)
    } else {
        Par::Seq
    };
    let y = s.train.iter().map(|&i| d.y[i]).collect();
    let p = Problem::new(
        d.x.select(Axis(0), &s.train),
        y,
        d.classes.len(),
        &Kernel::default(),
        1e-6,
        par,
    );
    let t = std::time::Instant::now();
    p.gram();
    let cross = p.cross(d.x.select(Axis(0), &s.test).view());
    println!("n {} kernel {:.2}s", p.shape().n, t.elapsed().as_secs_f64());
    for m in args[4..].chunks(2) {
        let c = registry::find(&m[0])
            .unwrap()
            .configure(&serde_json::from_str(&m[1]).unwrap())
            .unwrap();
        let t = std::time::Instant::now();
        let f = c.fit(&p, &seed).unwrap();
        let e = t.elapsed().as_secs_f64();
        let pr = f.machine.predict(cross.as_ref(), par);
        let ok = s
            .test
            .iter()
            .zip(&pr)
            .filter(|&(&i, &l)| d.y[i] == l)
            .count();
        println!(
            "{} {} {:.2} % {:.2}s {:?} rows {}",
            m[0],
            m[1],
            100.0 * ok as f64 / pr.len() as f64,
            e,
            f.certificate,
            f.trace.len()
        );
    }
}
