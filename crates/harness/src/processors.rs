//! Processors whose code can be compiled and run on this machine.

/// Returns the values of `--cpu` whose code this machine runs; `native` comes first.
pub fn runnable() -> Vec<&'static str> {
    let mut cpus = vec!["native", "generic"];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("sse4.2") {
            cpus.push("x86-64-v2");
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            cpus.push("x86-64-v3");
        }
        if is_x86_feature_detected!("avx512vl") && is_x86_feature_detected!("avx512dq") {
            cpus.push("x86-64-v4");
        }
    }
    cpus
}

/// Returns the values of `--cpu-level` whose code this machine runs.
pub fn levels() -> Vec<&'static str> {
    let mut levels = Vec::new();
    for cpu in runnable() {
        levels.extend(cpu.strip_prefix("x86-64-"));
    }
    levels
}
