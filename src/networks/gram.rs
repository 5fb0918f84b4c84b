//! The Gram matrix of the objectives' gradients in `Z`, in closed form.
//!
//! With `t_i = [z_i, phi_i]` of `D` dimensions, its layer norm `x_i = (t_i - mean_i) rstd_i`, gain
//! `g`, and `u_l = g * w_l`:
//!
//! ```text
//! grad_{z_i} J_l = p_il (v_l - s_il/D xz_i),      p_il = rstd_i dJ_l/df_il,
//!     v_l = (u_l - mean(u_l))_z,   s_il = <u_l, x_i>,   xz_i = (x_i)_z
//! G_lk = sum_i <grad_{z_i} J_l, grad_{z_i} J_k>
//!      = [P^T P * V V^T - H^T Q - Q^T H + Q^T diag(|xz_i|^2) Q]_lk,
//!     Q = P * S / D,   H = P * (Xz V^T)
//! ```
//!
//! where `*` is entry by entry. That is a few products of size B x K and K x d, instead of K backward
//! passes, and the K x (B d) matrix of gradients is never formed.

use tch::{Kind, Tensor, no_grad};

use super::head::Head;

/// `G` from `z` and the mean and inverse deviation of the layer norm, as a pass through `head` left them, the
/// function values `f` and `slopes_il = dJ_l/df_il`.
pub(super) fn gram(
    head: &Head,
    z: &Tensor,
    norm: Option<&(Tensor, Tensor)>,
    f: &Tensor,
    slopes: &Tensor,
) -> Tensor {
    no_grad(|| {
        let ((weight, bias), dims) = (head.hyperplanes(), z.size()[1]);
        let (Some((gain, shift)), Some((mean, rstd))) = (head.layer_norm(), norm) else {
            return product(slopes, &weight.narrow(1, 0, dims));
        };
        let width = gain.size()[0];
        let u = weight * gain;
        let mean_u = u.mean_dim([1].as_slice(), true, None::<Kind>);
        let v = u.narrow(1, 0, dims) - mean_u;
        let xz = (z - mean) * rstd;
        // f = S + <w_l, shift> + b_l.
        let s = f - weight.mv(shift) - bias;
        let p = slopes * rstd;
        let q = &p * s / width as f64;
        let h = &p * xz.matmul(&v.tr());
        let norms = (&xz * &xz).sum_dim_intlist([1].as_slice(), true, None::<Kind>);
        let mixed = h.tr().matmul(&q);
        p.tr().matmul(&p) * v.matmul(&v.tr()) - &mixed - mixed.tr() + q.tr().matmul(&(&q * norms))
    })
}

/// The matrix that the authors' code uses instead, see [`crate::methods::criteria::TauGradient::FirstColumns`].
pub(super) fn first_columns(head: &Head, phi: &Tensor, slopes: &Tensor) -> Tensor {
    no_grad(|| {
        let (weight, _) = head.hyperplanes();
        let columns = phi.size()[1].min(weight.size()[1]);
        product(slopes, &weight.narrow(1, 0, columns))
    })
}

/// `sum_i <grad_{z_i} J_l, grad_{z_i} J_k>` of `f = <v_l, z> + ...`, without a layer norm.
fn product(slopes: &Tensor, v: &Tensor) -> Tensor {
    slopes.tr().matmul(slopes) * v.matmul(&v.tr())
}

#[cfg(test)]
mod tests {
    use faer::Mat;
    use serde_json::Value;

    use super::*;
    use crate::methods::criteria::{Hinge, Hyperplanes, LossScale, Network};
    use crate::networks::head::Pass;
    use crate::networks::hyperplanes::Residuals;
    use npsvc::Scheme;
    use npsvc::solve::simplex;

    /// One mini-batch in evaluation mode, double precision, computed with automatic differentiation
    /// and an independent solver.
    fn reference() -> Value {
        let text = include_str!("../../tests/reference/d_npsvcpp_batch.json");
        serde_json::from_str(text).unwrap()
    }

    fn tensor(value: &Value) -> Tensor {
        let rows = value.as_array().unwrap();
        if !rows[0].is_array() {
            let numbers: Vec<f64> = rows.iter().map(|x| x.as_f64().unwrap()).collect();
            return Tensor::from_slice(&numbers);
        }
        Tensor::stack(&rows.iter().map(tensor).collect::<Vec<_>>(), 0)
    }

    fn assert_near(what: &str, found: &Tensor, expected: &Value, tolerance: f64) {
        let difference = (found - tensor(expected)).abs().max().double_value(&[]);
        assert!(difference <= tolerance, "{what}: {difference}");
    }

    fn of_pass(head: &Head, pass: &Pass, f: &Tensor, parts: &Residuals) -> Tensor {
        let z = pass.z.as_ref().unwrap();
        gram(head, z, pass.norm.as_ref(), f, &parts.slopes())
    }

    struct Batch {
        reference: Value,
        head: Head,
        phi: Tensor,
        members: Tensor,
        settings: (f64, f64, usize),
    }

    fn batch() -> Batch {
        let reference = reference();
        let number = |name: &str| reference["settings"][name].as_f64().unwrap();
        let phi = tensor(&reference["phi"]);
        let network = Network { hidden: 12, z: 8, ..Network::default() };
        let weights = &reference["weights"];
        let head = Head::with(&network, 16, 5, |name| tensor(&weights[name]));
        let y = tensor(&reference["y"]).to_kind(Kind::Int64);
        let members = y.one_hot(5).to_kind(Kind::Double);
        let settings = (number("c"), number("s"), number("classes") as usize);
        Batch { phi, head, members, settings, reference }
    }

    #[test]
    fn agrees_with_automatic_differentiation() {
        let batch = batch();
        let expect = &batch.reference["expect"];
        let pass = batch.head.pass(&batch.phi, None);
        let f = batch.head.weights.linear("cls", &pass.input);
        assert_near("z", pass.z.as_ref().unwrap(), &expect["z"], 1e-9);
        assert_near("f", &f, &expect["f"], 1e-9);
        let (c, margin, _) = batch.settings;
        for scheme in [Scheme::Ovr, Scheme::Rvo] {
            let expect = &expect["scheme"][scheme.name()];
            let hyperplanes = Hyperplanes {
                c,
                margin,
                scheme,
                hinge: Hinge::Clipped,
                scale: LossScale::default(),
                tau_step: None,
            };
            let parts = Residuals::new(&hyperplanes, &f, &batch.members);
            assert_near("objectives", &parts.objectives(), &expect["objective_by_class"], 1e-9);
            let gram = of_pass(&batch.head, &pass, &f, &parts);
            assert_near("gram", &gram, &expect["gram_of_gradients_in_z"], 1e-9);
            for (name, gamma) in [("tau_star_gamma_0_7", 0.7), ("tau_star_gamma_0_0007", 0.0007)] {
                let g = Mat::from_fn(5, 5, |i, j| gram.double_value(&[i as i64, j as i64]));
                let j = Vec::<f64>::try_from(parts.objectives().contiguous()).unwrap();
                let gains: Vec<f64> = j.iter().map(|j| gamma * j).collect();
                let (tau, _) = simplex::solve(g.as_ref(), &gains, &[0.2; 5], 1e-12);
                assert_near(name, &Tensor::from_slice(&tau), &expect[name], 1e-6);
            }
        }
    }

    /// Other layers, for which the reference has no numbers, are compared with libtorch's gradients.
    #[test]
    fn agrees_with_backward_passes_without_phi_or_layer_norm() {
        use crate::methods::criteria::Hypothesis::{Both, Z};
        for (hypothesis, layer_norm) in [(Z, true), (Z, false), (Both, false)] {
            let network =
                Network { hidden: 12, z: 8, hypothesis, layer_norm, ..Network::default() };
            agrees_with_backward_passes(&network);
        }
    }

    fn agrees_with_backward_passes(network: &Network) {
        let batch = batch();
        let weights = &batch.reference["weights"];
        let has_phi = network.hypothesis == crate::methods::criteria::Hypothesis::Both;
        let head = Head::with(network, 16, 5, |name| {
            let tensor = tensor(&weights[name]);
            match name {
                "ln.weight" | "ln.bias" if !has_phi => tensor.narrow(0, 0, 8),
                "cls.weight" if !has_phi => tensor.narrow(1, 0, 8),
                _ => tensor,
            }
        });
        let pass = head.pass(&batch.phi, None);
        let f = head.weights.linear("cls", &pass.input);
        let (c, margin, classes) = batch.settings;
        let scheme = Scheme::Ovr;
        let hyperplanes = Hyperplanes {
            c,
            margin,
            scheme,
            hinge: Hinge::Clipped,
            scale: LossScale::default(),
            tau_step: None,
        };
        let parts = Residuals::new(&hyperplanes, &f, &batch.members);
        let objectives = parts.objectives();
        let gradients: Vec<Tensor> = (0..classes as i64)
            .map(|l| {
                let z = [pass.z.as_ref().unwrap()];
                Tensor::run_backward(&[objectives.select(0, l)], &z, true, false)
                    .remove(0)
                    .reshape([-1])
            })
            .collect();
        let gradients = Tensor::stack(&gradients, 0);
        let expected = gradients.matmul(&gradients.tr());
        let found = of_pass(&head, &pass, &f, &parts);
        let difference = (found - expected).abs().max().double_value(&[]);
        assert!(difference < 1e-12, "{network:?}: {difference}");
    }

    /// The authors' lines, written out: a vector of gradients per class, then their products.
    #[test]
    fn first_columns_are_those_of_the_authors_code() {
        let batch = batch();
        let pass = batch.head.pass(&batch.phi, None);
        let f = batch.head.weights.linear("cls", &pass.input);
        let (c, margin, classes) = batch.settings;
        let hyperplanes = Hyperplanes {
            c,
            margin,
            scheme: Scheme::Rvo,
            hinge: Hinge::Unclipped,
            scale: LossScale { near: 3.0, far: 2.5 },
            tau_step: None,
        };
        let slopes = Residuals::new(&hyperplanes, &f, &batch.members).slopes();
        // simloss.grad, disloss.grad and grad_zx, but for the mean over the batch.
        let (members, others) = (&batch.members, classes as f64 - 1.0);
        let similar = 3.0 * &f;
        let dissimilar = -2.5 * (margin - &f);
        let grad_zx = (1.0 - members) * similar / others + members * dissimilar * c;
        let grad_zx = grad_zx / f.size()[0] as f64;
        let difference = (&slopes - &grad_zx).abs().max().double_value(&[]);
        assert!(difference < 1e-12, "{difference}");
        let w = batch.head.hyperplanes().0.narrow(1, 0, 16);
        let grad = w.unsqueeze(2).bmm(&grad_zx.tr().unsqueeze(1));
        let grad = grad.view([classes as i64, -1]);
        let found = first_columns(&batch.head, &batch.phi, &slopes);
        let difference = (found - grad.matmul(&grad.tr())).abs().max();
        assert!(difference.double_value(&[]) < 1e-12);
    }
}
