/// The names of headers, parameters and JSON members whose values are secret: the well-known ones, and a client's own.
///
/// It compares bytes: each header of each error is checked, and Swift's search in text prepares a table each time.
struct SecretNames: Sendable {
    /// The place of a name.
    enum Location {
        /// In a header any word of the name counts, because few headers are worth showing at any risk.
        case header
        /// A parameter of a query or of a form.
        case parameter
        /// A member of a JSON object, or a name in prose.
        case member
    }

    /// The well-known secret names.
    static let standard = SecretNames()

    /// Secret as the last word of a name, in every place: `user_pin`, `newPassword`, `X-Session`.
    private static let words = bytes(of: [
        "auth", "authorization", "authentication", "cookie", "credential", "credentials", "csrf", "cvc", "cvv",
        "dpop", "jsessionid", "jwt", "otp", "pass", "passcode", "passphrase", "passwd", "password", "phpsessid",
        "pin", "pwd", "secret", "session", "sid", "sig", "signature", "ssn", "token", "totp", "xsrf",
    ])
    /// Secret as the end of a name without its separators, so that `X-ApiKey`, `api_key` and `accesstoken` are found.
    private static let endings = Array(
        bytes(of: [
            "token", "secret", "password", "passwd", "passphrase", "passcode", "authorization", "credential",
            "credentials", "signature", "assertion", "jwt", "sessionid", "accountkey", "accesskey", "apikey",
            "appkey", "applicationkey", "authkey", "encryptionkey", "functionskey", "masterkey", "privatekey",
            "secretkey", "securitykey", "sharedkey", "signingkey", "subscriptionkey", "accesscode", "authcode",
            "authorizationcode", "backupcodes", "codeverifier", "devicecode", "recoverycodes", "securitycode",
            "usercode", "verificationcode",
        ]))
    /// Secret as the whole name only: with other words around them these are ordinary.
    private static let wholes = bytes(of: ["access", "refresh"])
    /// Ordinary names of JSON members, but in a query or a form the code of a sign-in or an API key.
    private static let parameters = bytes(of: ["code", "key"])
    /// Headers whose names look secret although their values are not.
    private static let harmlessHeaders = bytes(of: [
        "accesscontrolallowcredentials", "idempotencykey", "xidempotencykey", "surrogatekey", "publickeypins",
    ])
    /// Parts that are secret in any word of a header's name.
    private static let headerParts = endings + bytes(of: ["session", "cookie"])
    /// The longest name that is read; only its end counts.
    static let longest = 64

    /// The shortest of these names, and of their parts.
    private static let shortest = 3

    private let own: [[UInt8]]

    /// Adds a client's own names to the well-known ones. Case and separators do not matter.
    init(adding own: Set<String> = []) {
        self.own = own.map { Self.bare($0.utf8) }.filter { !$0.isEmpty }
    }

    /// Returns whether a value with that name is secret.
    func contains(_ name: some StringProtocol, in place: Location) -> Bool {
        contains(Array(name.utf8)[...], in: place)
    }

    /// Returns whether a value with that name, in UTF-8, is secret. Allocates nothing for a short name.
    func contains(_ name: ArraySlice<UInt8>, in place: Location) -> Bool {
        if isOwn(name) { return true }
        // `password2` is a password.
        let end = name.lastIndex { !(0x30...0x39).contains($0) }.map { $0 + 1 } ?? name.startIndex
        return end - name.startIndex >= Self.shortest && Self.isSecret(Array(name[..<end]), in: place)
    }

    /// Returns whether the name is one of the client's own. Allocates nothing, because each received header is checked.
    func isOwn(_ name: some StringProtocol) -> Bool { isOwn(name.utf8) }

    private func isOwn(_ name: some Sequence<UInt8>) -> Bool {
        own.contains { $0.elementsEqual(name.lazy.filter(Self.isPart).map(\.asciiLowercased)) }
    }

    private static func bytes(of names: [String]) -> Set<[UInt8]> { Set(names.map { Array($0.utf8) }) }

    private static func isSecret(_ name: [UInt8], in place: Location) -> Bool {
        let bare = Self.bare(name)
        // Rate limits count tokens too, which are not secret.
        if place == .header, harmlessHeaders.contains(bare) || bare.holds("ratelimit".utf8) { return false }
        if words.contains(bare) || endings.contains(where: bare.ends(with:)) { return true }
        if place == .header { return words(of: name).contains(where: isSecretInHeader) }
        return wholes.contains(bare) || place == .parameter && parameters.contains(bare)
            || words(of: name).last.map(words.contains) ?? false
    }

    private static func isSecretInHeader(_ word: [UInt8]) -> Bool {
        if words.contains(word) || ["key", "keys", "auth"].contains(where: { word.ends(with: $0.utf8) }) {
            return true
        }
        // `author` and `authority` are the exceptions among names with this prefix.
        if word.starts(with: "auth".utf8) {
            let isOrdinary = word.starts(with: "author".utf8) && !word.starts(with: "authori".utf8)
            if !isOrdinary, !word.elementsEqual("authority".utf8) { return true }
        }
        return headerParts.contains(where: word.holds)
    }

    /// Returns the letters and digits of the name, in lower case.
    private static func bare(_ name: some Sequence<UInt8>) -> [UInt8] { name.filter(isPart).map(\.asciiLowercased) }

    /// Returns whether the byte is not a separator.
    private static func isPart(_ byte: UInt8) -> Bool { PercentEncoding.isAlphanumeric(byte) || byte >= 0x80 }

    /// Returns the words of a name in lower case. Separators and capital letters divide words.
    private static func words(of name: [UInt8]) -> [[UInt8]] {
        var words: [[UInt8]] = []
        var word: [UInt8] = []
        var isAfterSmall = false
        for byte in name {
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            let isPart = Self.isPart(byte)
            if !isPart || isCapital && isAfterSmall, !word.isEmpty {
                words.append(word)
                word = []
            }
            if isPart { word.append(byte.asciiLowercased) }
            isAfterSmall = isPart && !isCapital
        }
        if !word.isEmpty { words.append(word) }
        return words
    }
}

extension [UInt8] {
    fileprivate func ends(with text: some BidirectionalCollection<UInt8>) -> Bool {
        reversed().starts(with: text.reversed())
    }

    /// Returns whether the text is a part of these bytes.
    fileprivate func holds(_ text: some Collection<UInt8>) -> Bool {
        let first = text.first
        return indices.contains { self[$0] == first && self[$0...].starts(with: text) }
    }
}
