-- Prices of European calls by the formula of Black and Scholes (1973), and their greeks: the derivatives by the price
-- of the underlying, the volatility, the time and the rate.

type option = {price: f64, volatility: f64, time: f64, rate: f64}

def normal (x: f64) : f64 = (1 + f64.erf (x / f64.sqrt 2)) / 2

def call (strike: f64) (o: option) : f64 =
  let spread = o.volatility * f64.sqrt o.time
  let d1 = (f64.log (o.price / strike) + (o.rate + o.volatility * o.volatility / 2) * o.time) / spread
  in o.price * normal d1 - strike * f64.exp (-o.rate * o.time) * normal (d1 - spread)

entry primal [n] (prices: [n]f64) (strikes: [n]f64) (volatilities: [n]f64) (times: [n]f64) (rate: f64) : [n]f64 =
  map4 (\price strike volatility time -> call strike {price, volatility, time, rate}) prices strikes volatilities times

entry derivative [n] (prices: [n]f64) (strikes: [n]f64) (volatilities: [n]f64) (times: [n]f64) (rate: f64)
  : ([n]f64, [n]f64, [n]f64, [n]f64) =
  let greeks price strike volatility time =
    let d = vjp (call strike) {price, volatility, time, rate} 1
    in (d.price, d.volatility, d.time, d.rate)
  in unzip4 (map4 greeks prices strikes volatilities times)
