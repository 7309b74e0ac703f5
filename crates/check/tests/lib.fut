-- | Twice a number.
def twice (x: i32) : i32 = x + x

module inner = {
  -- | A pair.
  type pair = (i32, i32)
  def first (p: pair) = p.0
}

local def hidden = twice 1
