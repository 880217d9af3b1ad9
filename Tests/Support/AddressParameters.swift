import Foundation

/// Returns the parameters of an address.
package func parameters(of address: String) -> [String: String] {
    let items = URLComponents(string: address)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { $1 + $0 }
}
