/// The parameters of the address to which an authorization server has led the browser.
struct RedirectAnswer {
    /// A longer address is none of a server.
    private static let longest = 64 << 10

    private let parameters: [(name: String, value: String)]

    /// Reads the parameters in the query of an address, whatever comes before it.
    init(_ address: String) {
        guard address.utf8.count <= Self.longest, let mark = address.firstIndex(of: "?") else {
            parameters = []
            return
        }
        let query = Substring(address.utf8[mark...].dropFirst()).prefix(before: "#")
        parameters = query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            func decoded(_ index: Int) -> String {
                parts.count > index ? PercentEncoding.decode(parts[index].replacing("+", with: " ")) : ""
            }
            return (decoded(0), decoded(1))
        }
    }

    /// Returns the value of a parameter; `nil` if it is missing or empty. One that occurs twice has no value that
    /// anybody could trust.
    func value(_ name: String) throws(ServiceError) -> String? {
        let values = parameters.filter { $0.name == name }.map(\.value)
        guard values.count <= 1 else { throw .unlike(name, expected: "one value", found: "\(values.count)") }
        return values.first.flatMap { $0.isEmpty ? nil : $0 }
    }
}
