//! Loops whose tasks take chunks of their range.

use crate::common::{run, verified};
use value::Value;

const PROGRAM: &str = r#"imp file "a.fut"
entry "main" = f ("n": "i64" as i64, "count": "i64" as i64) -> ("": "[]i64" as array 1 i64)
fun f(n_0: i64, count_1: i64) -> (ys_2: buffer, n_0: i64) {
  owned ys_2
  ys_2 = alloc (n_0 * 8)
  for lo_3: i64 in 0 .. n_0 tasks#0 "fill" at "" cost 1000000000 slices count_1 to hi_4: i64
      owned () locals (i_5) captures (n_0, count_1, ys_2) distinct (ys_2) {
    for i_5: i64 in lo_3 .. hi_4 independent {
      ys_2[i64: i_5] = ((lo_3 * 1000000) + hi_4)
    }
  }
}"#;

#[test]
fn slices_are_consecutive() {
    let program = imp::parse(PROGRAM).unwrap();
    for n in [0, 1, 7, 512, 100_003] {
        for count in [1, 2, 5, 512] {
            let mut wanted = vec![0; n as usize];
            for k in 0..count {
                let (lo, hi) = (k * n / count, (k + 1) * n / count);
                wanted[lo as usize..hi as usize].fill(lo * 1_000_000 + hi);
            }
            for threads in [1, 4] {
                let args = vec![Value::scalar(n).unwrap(), Value::scalar(count).unwrap()];
                let given = Value::from_slice(&[n], &wanted).unwrap();
                assert_eq!(run(&program, threads, args), Ok(vec![given]), "{n} in {count}");
            }
        }
    }
}

#[test]
fn coarse_tasks_merge_adjacent_slices() {
    let few = PROGRAM.replace("hi_4: i64\n", "hi_4: i64 few\n");
    let program = imp::parse(&few).unwrap();
    for (n, count) in [(0, 3), (1, 1), (7, 5), (100_003, 512)] {
        for threads in [1, 3] {
            let args = vec![Value::scalar(n).unwrap(), Value::scalar(count).unwrap()];
            let given = run(&program, threads, args).unwrap();
            let marks: &[i64] = given[0].elements().unwrap();
            assert_eq!(marks.len() as i64, n);
            let (mut at, mut tasks) = (0, 0);
            while at < n {
                let (lo, hi) = (marks[at as usize] / 1_000_000, marks[at as usize] % 1_000_000);
                assert_eq!(lo, at, "{n} in {count}");
                let bounds = (0..=count).map(|k| k * n / count);
                assert!(bounds.clone().any(|b| b == lo) && bounds.clone().any(|b| b == hi));
                let own = &marks[lo as usize..hi as usize];
                assert!(own.iter().all(|mark| *mark == marks[at as usize]));
                (at, tasks) = (hi, tasks + 1);
            }
            assert!(tasks <= 2 * threads as i64, "{n} in {count}: {tasks} tasks");
        }
    }
}

#[test]
fn zero_fills_become_memset() {
    let zeros = PROGRAM.replace("((lo_3 * 1000000) + hi_4)", "0");
    let program = imp::parse(&zeros).unwrap();
    let options = llvm::Options::default();
    let text = llvm::text(&verified(&program), &options, llvm::Output::Ir).unwrap();
    assert!(text.contains("call void @llvm.memset"), "{text}");
}
