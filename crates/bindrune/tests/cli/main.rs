//! The command line and built executables as users run them: processes with arguments, streams and
//! exit codes.

mod bad_data;
mod bad_programs;
mod compile;
mod deep;
mod executable;
mod explain;
mod explain_tuning;
mod gpu;
mod guide;
mod limitations;
mod opencl;
mod portable;
mod process;
mod repl;
mod spelling;
mod surroundings;
mod terminal;
mod testing;
mod tools;
mod tune;
mod tuning;
