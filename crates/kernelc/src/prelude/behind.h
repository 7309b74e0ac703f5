/* What makes an executable of the program is not what takes time; compilers need not
   take any over it either. */

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O1")
#endif
