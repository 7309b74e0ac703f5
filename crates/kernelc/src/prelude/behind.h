/* The code that makes an executable of the program is not time-critical, so compilers need not
   spend time on optimising it. */

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O1")
#endif
