//! Prints the names of all adapters, the fastest kind first: `cargo run --example adapters`.

fn main() {
    let names = lacuna_gpu::Gpu::list();
    match &names[..] {
        [] => println!("no adapter of Vulkan, Metal or DirectX 12"),
        names => names.iter().for_each(|name| println!("{name}")),
    }
}
