//! A small collection of images in DTD's layout, and an encoder for it that was never trained.

use std::fs;
use std::path::Path;

use tch::{Device, Kind, Tensor};

/// torchvision's names and shapes of a ResNet18's weights, written out on their own.
pub fn resnet18() -> Vec<(String, Vec<usize>)> {
    residual([2, 2, 2, 2])
}

/// The same of a ResNet34.
#[allow(dead_code, reason = "not every test that has images needs both")]
pub fn resnet34() -> Vec<(String, Vec<usize>)> {
    residual([3, 4, 6, 3])
}

fn residual(blocks: [usize; 4]) -> Vec<(String, Vec<usize>)> {
    let mut all = Vec::new();
    let mut add = |conv: String, bn: String, shape: [usize; 4]| {
        all.push((format!("{conv}.weight"), shape.to_vec()));
        for part in ["weight", "bias", "running_mean", "running_var"] {
            all.push((format!("{bn}.{part}"), vec![shape[0]]));
        }
    };
    add("conv1".into(), "bn1".into(), [64, 3, 7, 7]);
    let mut inputs = 64;
    for (layer, blocks) in blocks.into_iter().enumerate() {
        let width = 64 << layer;
        for block in 0..blocks {
            let name = |part: &str| format!("layer{}.{block}.{part}", layer + 1);
            add(name("conv1"), name("bn1"), [width, inputs, 3, 3]);
            add(name("conv2"), name("bn2"), [width, width, 3, 3]);
            if inputs != width {
                let shape = [width, inputs, 1, 1];
                add(name("downsample.0"), name("downsample.1"), shape);
            }
            inputs = width;
        }
    }
    all
}

/// A file of weights of a residual network that was never trained.
pub fn write_weights(path: &Path, weights: &[(String, Vec<usize>)]) {
    let tensors: Vec<(String, Tensor)> = weights
        .iter()
        .enumerate()
        .map(|(number, (name, shape))| {
            let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            let count: i64 = shape.iter().product();
            let fan_in = (count / shape[0]) as f64;
            let tensor = match () {
                () if name.ends_with("running_var")
                    || !name.contains("conv") && shape.len() == 1 && name.ends_with(".weight") =>
                {
                    Tensor::ones(&shape[..], (Kind::Float, Device::Cpu))
                }
                () if shape.len() == 1 => Tensor::zeros(&shape[..], (Kind::Float, Device::Cpu)),
                // Any numbers that are not all alike will do.
                () => {
                    let ramp =
                        Tensor::arange(count, (Kind::Float, Device::Cpu)) * 12.9898 + number as f64;
                    (ramp.sin() * (2.0 / fan_in).sqrt()).view(&shape[..])
                }
            };
            (name.clone(), tensor)
        })
        .collect();
    Tensor::write_safetensors(&tensors, path).unwrap();
}

/// Writes images of two classes, this many for training and for testing.
#[allow(dead_code, reason = "a test may have its own images")]
pub fn write_images(folder: &Path, [train, test]: [usize; 2]) {
    let mut lists = [String::new(), String::new()];
    for class in ["dotted", "striped"] {
        fs::create_dir_all(folder.join("images").join(class)).unwrap();
    }
    for number in 0..train + test {
        let class = ["dotted", "striped"][number % 2];
        let image = image::RgbImage::from_fn(24, 24, |x, y| {
            let wave = match class {
                "striped" => x / 4 % 2,
                _ => x / 4 % 2 * (y / 4 % 2),
            };
            image::Rgb([
                (wave * 200 + number as u32 % 10 * 5) as u8,
                (x * 3) as u8,
                (number * 9) as u8,
            ])
        });
        let name = format!("{class}/{class}_{}.png", number / 2);
        image.save(folder.join("images").join(&name)).unwrap();
        lists[usize::from(number >= train)] += &format!("{name}\n");
    }
    fs::create_dir_all(folder.join("labels")).unwrap();
    for (list, file) in lists.iter().zip(["train1.txt", "test1.txt"]) {
        fs::write(folder.join("labels").join(file), list).unwrap();
    }
}
