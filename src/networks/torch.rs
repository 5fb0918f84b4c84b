//! libtorch: devices, threads, and its failures as errors.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ndarray::ArrayView2;
use tch::{Device, Kind, Tensor};

use crate::wording::panic_text;

/// A failure of libtorch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TorchError {
    #[error("{device} ran out of memory; lower `training.batch` or the images' `size` ({message})")]
    OutOfMemory { device: String, message: String },
    #[error("libtorch failed: {0}")]
    Failed(String),
}

/// The device called `name`, `cpu` or `cuda:N`; the CPU if the name is empty.
pub(super) fn device(name: &str) -> Result<Device, TorchError> {
    let index = name.strip_prefix("cuda:").and_then(|n| n.parse().ok());
    match (name, index) {
        ("" | "cpu", _) => Ok(Device::Cpu),
        (_, Some(index)) => Ok(Device::Cuda(index)),
        (other, None) => Err(TorchError::Failed(format!("there is no device `{other}`"))),
    }
}

fn name_of(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        _ => "cpu".to_owned(),
    }
}

/// An error unless this machine has the device called `name`.
pub fn find_device(name: &str) -> Result<(), String> {
    let found = tch::Cuda::device_count();
    match device(name) {
        Ok(Device::Cuda(index)) if (index as i64) < found => Ok(()),
        Ok(Device::Cpu) => Ok(()),
        _ if found == 0 => Err("libtorch finds no CUDA device".to_owned()),
        _ => Err(format!("libtorch finds {found} CUDA devices, counted from 0")),
    }
}

/// Runs `work` on all cores, which is faster for convolutions, but not for the layers behind them. It does not use
/// `--threads` cores, because sums in another order would give other numbers.
pub(super) fn with_all_cores<T>(work: impl FnOnce() -> T) -> T {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    tch::set_num_threads(cores as i32);
    let result = work();
    tch::set_num_threads(1);
    result
}

thread_local! {
    /// Whether panics of this thread are turned into errors.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a device. A call of libtorch that fails panics; the panic becomes an error and is not printed.
pub(super) fn guarded<T, E: From<TorchError>>(
    device: Device,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_GUARDED.get() {
                usual(info);
            }
        }));
    });
    let was_guarded = IS_GUARDED.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(was_guarded);
    result.unwrap_or_else(|panic| Err(torch_error(device, &panic_text(&*panic)).into()))
}

/// The sentence in a panic of libtorch's wrapper, without the place in its sources.
fn torch_error(device: Device, text: &str) -> TorchError {
    let inside = text.split_once("Torch(\"");
    let line = inside.map_or(text, |(_, inside)| inside);
    let line = line.split(['\n', '"']).next().unwrap_or_default();
    let line = line.split("\\n").next().unwrap_or_default();
    let message = line.trim().to_owned();
    match text.contains("out of memory") || text.contains("can't allocate memory") {
        true => TorchError::OutOfMemory { device: name_of(device), message },
        false => TorchError::Failed(message),
    }
}

/// Rows of numbers in single precision.
pub(super) fn matrix(x: ArrayView2<'_, f64>, device: Device) -> Tensor {
    let values: Vec<f32> = x.iter().map(|&value| value as f32).collect();
    Tensor::from_slice(&values).view([x.nrows() as i64, x.ncols() as i64]).to_device(device)
}

/// The column of the largest value of each row.
pub(super) fn largest(values: &Tensor) -> Vec<usize> {
    let columns = values.argmax(1, false).to_kind(Kind::Int64);
    let columns: Vec<i64> =
        Vec::try_from(columns.to_device(Device::Cpu)).expect("a vector of integers is one");
    columns.into_iter().map(|l| l as usize).collect()
}

/// The values of a tensor in single precision, row by row, as bytes.
pub(super) fn bytes(values: &Tensor) -> Vec<u8> {
    let values = values.detach().to_device(Device::Cpu).to_kind(Kind::Float).contiguous();
    let mut bytes = vec![0; 4 * values.numel()];
    values.copy_data_u8(&mut bytes, values.numel());
    bytes
}

/// The values of a tensor, row by row.
pub(super) fn numbers(values: &Tensor) -> Vec<f64> {
    let values = values.detach().to_device(Device::Cpu);
    Vec::try_from(values.to_kind(Kind::Double).reshape([-1])).expect("a vector of numbers is one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_runs_out_of_memory_is_named_in_one_sentence() {
        let work = || Ok(Tensor::zeros([1 << 50], (Kind::Float, Device::Cpu)));
        let error: Option<TorchError> = guarded(Device::Cpu, work).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.starts_with("cpu ran out of memory; lower"), "{text}");
        assert!(!text.contains("frame"), "{text}");
        let text = "called `Result::unwrap()` on an `Err` value: Torch(\"CUDA out of memory. Tried to allocate 2.00 \
                    GiB.\\nException raised from malloc at CUDACachingAllocator.cpp\")";
        let error = torch_error(Device::Cuda(1), text).to_string();
        assert_eq!(
            error,
            "cuda:1 ran out of memory; lower `training.batch` or the images' `size` (CUDA out of memory. Tried to \
             allocate 2.00 GiB.)"
        );
    }

    #[test]
    fn a_failure_inside_another_guard_stays_silent() {
        let outer: Result<(), TorchError> = guarded(Device::Cpu, || {
            let inner: Result<(), TorchError> = guarded(Device::Cpu, || panic!("inner"));
            assert!(inner.is_err());
            assert!(IS_GUARDED.get());
            Ok(())
        });
        assert_eq!(outer, Ok(()));
        assert!(!IS_GUARDED.get());
    }
}
