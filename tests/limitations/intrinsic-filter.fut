-- run: build FILE
-- exit: 1
-- prints: not supported yet: the intrinsic `filter`: use the library function of this name

entry main (xs: []i64) = intrinsics.filter (> 0) xs
